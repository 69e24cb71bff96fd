#!/bin/bash
# Builds programs with two compilers and compares what they dump, byte for byte.
# usage: same_ir.sh <source> <build> <work folder> <C++ compiler> <another>
set -euo pipefail
source=$1 build=$2 work=$3
programs=(tests/compilers/kernels.cpp docs/examples/language.cpp)
compilers=("$4" "$5")
rm -rf "$work/dump"[12]
mkdir -p "$work"
jobs=()
for i in 0 1; do
  for program in "${programs[@]}"; do
    "${compilers[i]}" -std=c++20 -O0 -w -I"$build/include" -I"$source" "$source/$program" \
      -o "$work/$(basename "$program" .cpp)$((i + 1))" -L"$build" -lheddle -Wl,-rpath,"$build" &
    jobs+=($!)
  done
done
for job in "${jobs[@]}"; do wait "$job"; done

for number in 1 2; do
  dump=$work/dump$number
  for program in "${programs[@]}"; do
    HEDDLE_CACHE_DIR=$work/cache HEDDLE_DUMP=canonical,scheduled HEDDLE_DUMP_DIR=$dump "$work/$(basename "$program" .cpp)$number"
  done
  # The key in these files' names is that of the trace before it is made canonical, where the order in which the compiler
  # evaluates function arguments still shows: name them by what they hold instead.
  for file in "$dump"/*.canonical.hir; do
    key=$(sha256sum "$file" | cut -c1-16)
    name=$(basename "$file")
    mv "$file" "$dump/${name%-*}-of-$key.canonical.hir"
  done
done

# gemm of four types, both_sides, add, row_softmax, collatz.
for stage in canonical scheduled; do
  count=$(find "$work/dump1" -name "*.$stage.hir" -size +100c | wc -l)
  echo "$count $stage files"
  ((count >= 8))
done
diff -r "$work/dump1" "$work/dump2"
