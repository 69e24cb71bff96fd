#!/bin/bash
# Sets up, builds and runs the sample GEMM. Options go to the sample: tools/run_sample.sh --help
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh

tools/setup.sh
build release sample_gemm -DHEDDLE_TESTS=OFF -DHEDDLE_BENCH=OFF
echo "run: build/samples/gemm $*"
exec build/samples/gemm "$@"
