#!/bin/bash
# Every shell script parses.
# usage: scripts.sh <source>
set -euo pipefail
cd "$1"
for script in bench/*.sh tools/*.sh tests/*/*.sh .ci/run; do bash -n "$script"; done
