#!/bin/bash
# All C++ is laid out as .clang-format says. To mend: clang-format-19 -i <file>
# usage: format.sh <source>
set -euo pipefail
cd "$1"
find . -path './build*' -prune -o \( -name '*.h' -o -name '*.cpp' \) -print0 |
  xargs -0 clang-format-19 --dry-run -Werror
