#!/bin/bash
# No common misspellings in code or text.
# usage: spelling.sh <source>
set -euo pipefail
cd "$1"
codespell --skip './build*,./.git,./LICENSE,./.cache,*.png'
