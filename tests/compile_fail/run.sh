#!/bin/bash
# Each program here but right.cpp must be refused, with the sentence of its first line (EXPECT, a regular expression) and
# with the line marked HERE named. right.cpp must compile.
# usage: run.sh <source> <build> <compiler>
set -euo pipefail
source=$1 build=$2 compiler=$3
here=$source/tests/compile_fail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -fsyntax-only -I "$source" -I "$build/include" -I "$work")

# The header, parsed once.
cp "$here/prelude.h" "$work/prelude.h"
"$compiler" -std=c++20 -I "$source" -I "$build/include" -x c++-header "$work/prelude.h" -o "$work/prelude.h.gch"
case $("$compiler" --version | head -1) in
  *clang*) flags+=(-include-pch "$work/prelude.h.gch") ;;
  *) flags+=(-include "$work/prelude.h") ;;
esac

if ! "$compiler" "${flags[@]}" "$here/right.cpp" 2>"$work/right"; then
  cat "$work/right" >&2
  echo "right.cpp does not compile: the refusals prove nothing" >&2
  exit 1
fi

# Says what is wrong with the way a program is refused, if anything.
check() {
  local program=$1 name output expected line
  name=$(basename "$program" .cpp)
  output=$work/$name.out
  expected=$(sed -n '1s#^// EXPECT: ##p' "$program")
  line=$(grep -n '// HERE' "$program" | cut -d: -f1)
  if [[ -z $expected || -z $line ]]; then
    echo "$name: lacks EXPECT or HERE"
  elif "$compiler" "${flags[@]}" "$program" >"$output" 2>&1; then
    echo "$name: compiles"
  elif ! tr '\n' ' ' <"$output" | grep -qE -- "$expected"; then
    echo "$name: the message is not '$expected':"
    grep -E 'error' "$output" | head -5
  elif ! grep -q "$name.cpp:$line:" "$output"; then
    echo "$name: line $line is not named:"
    head -5 "$output"
  fi
}

count=0
for program in "$here"/*.cpp; do
  [[ $program == */right.cpp ]] && continue
  ((++count))
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
  check "$program" >"$work/$(basename "$program").complaint" &
done
wait
if cat "$work"/*.complaint | grep . >&2; then exit 1; fi
echo "$count programs are refused as they should be"
