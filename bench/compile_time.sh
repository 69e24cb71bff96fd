#!/bin/bash
# What Heddle's headers cost to compile, to an object without optimisation: medians of 7 runs, their spread, and the
# budgets. The row "header" counts what is beyond the row "nothing". Ends with 1 if a median is over `factor` times its
# budget.
# usage: compile_time.sh <source> <folder of heddle/heddle.h> [<C++ compiler> [<factor> [<runs>]]]
set -euo pipefail
source=$1 include=$2 cxx=${3:-g++} factor=${4:-1} runs=${5:-7}
object=$(mktemp)
log=$(mktemp)
trap 'rm -f "$object" "$log"' EXIT

# Milliseconds of processor time, on which other programs' load shows little, that one compilation takes: of as many as
# there are runs, sorted.
measure() {
  local run taken TIMEFORMAT='%U %S'
  for ((run = 0; run < runs; ++run)); do
    taken=$({ time "$cxx" -std=c++20 -O0 -I"$include" -I"$source" -c "$source/tests/budget/$1.cpp" -o "$object" \
      2>"$log"; } 2>&1) || exit
    echo "$taken"
  done | awk '{print int(($1 + $2) * 1000 + 0.5)}' | sort -n
}

over=0
base=0
printf '%-10s %10s %12s %10s\n' file 'median ms' 'spread ms' 'budget ms'
# row <file> <budget or ->: the time beyond `base`
row() {
  local times median
  mapfile -t times < <(measure "$1")
  if ((${#times[@]} != runs)); then
    cat "$log" >&2
    echo "$1 does not compile" >&2
    exit 1
  fi
  median=$((times[runs / 2] - base))
  printf '%-10s %10d %12s %10s\n' "$1" "$median" "$((times[0] - base))..$((times[runs - 1] - base))" "$2"
  if [[ $2 != - ]] && ((median > $2 * factor)); then
    echo "$1 takes more than $factor times its budget" >&2
    over=1
  fi
  if [[ $1 == nothing ]]; then base=$median; fi
}
row nothing -
row header 150
base=0
row kernel 1000
row chain 2000
((over == 0))
