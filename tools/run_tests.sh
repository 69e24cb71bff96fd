#!/bin/bash
# Sets up, builds and runs all tests.
# usage: tools/run_tests.sh [preset] [ctest options]     preset: release (default), debug, asan, tsan
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh

preset=release
case ${1:-} in release | debug | asan | tsan) preset=$1; shift ;; esac
tools/setup.sh --tests
build "$preset" all -DHEDDLE_TESTS=ON -DHEDDLE_BENCH=ON
exec ctest --preset "$preset" --output-on-failure -j "$(nproc)" "$@"
