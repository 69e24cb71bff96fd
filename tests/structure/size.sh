#!/bin/bash
# The stripped library stays below 45 MB.
# usage: size.sh <libheddle.so> <work folder>
set -euo pipefail
mkdir -p "$2"
strip -o "$2/stripped.so" "$1"
bytes=$(stat -c %s "$2/stripped.so")
echo "stripped: $bytes bytes"
((bytes < 45000000))
