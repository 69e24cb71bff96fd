#!/bin/bash
# README.md's table, the list that unknown variables are told by, and what the sources read are the same.
# usage: environment.sh <source>
set -euo pipefail
cd "$1"
listed=$(grep -oE '"HEDDLE_[A-Z_]+"' runtime/environment.cpp | tr -d '"' | sort -u)
read=$(grep -rhoE '"HEDDLE_[A-Z_]+"' codegen runtime --exclude=environment.cpp | tr -d '"' | sort -u)
documented=$(grep -oE '^\| `HEDDLE_[A-Z_]+`' README.md | grep -oE 'HEDDLE_[A-Z_]+' | sort -u)
diff <(echo "$listed") <(echo "$read") || { echo "runtime/environment.cpp's list is not what the sources read" >&2; exit 1; }
diff <(echo "$documented") <(echo "$read") || { echo "README.md's table is not what the sources read" >&2; exit 1; }
