#!/bin/bash
# libheddle.so exports Heddle's own symbols and no others: a second LLVM or fmt in the process must never meet ours.
# usage: exports.sh <libheddle.so>
set -euo pipefail
symbols=$(nm -D --defined-only --format=posix "$1" | awk '{print $1}')
foreign=$(grep -vE '^(heddle_|_ZNK?R?6heddle|_ZT[ISV]N6heddle)' <<<"$symbols" || true)
if [[ -n $foreign ]]; then
  echo "exported, but not Heddle's:" >&2
  head -20 <<<"$foreign" | c++filt >&2
  exit 1
fi
inside=$(grep -E '4llvm|3fmt' <<<"$symbols" || true)
if [[ -n $inside ]]; then
  echo "exported functions that take types of LLVM or fmt:" >&2
  head -20 <<<"$inside" | c++filt >&2
  exit 1
fi
grep -q '^_ZTIN6heddle5ErrorE$' <<<"$symbols" || { echo "heddle::Error can't be caught by users" >&2; exit 1; }
echo "$(wc -l <<<"$symbols") symbols, all Heddle's"

# Needed at run time: the system's libraries and the compression that LLVM links; no LLVM, fmt or CUDA.
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
extra=$(grep -vE '^(libz|libzstd|libstdc\+\+|libm|libgcc_s|libc|ld-linux-x86-64)\.so' <<<"$needed" || true)
[[ -z $extra ]] || { echo "libheddle.so needs $extra" >&2; exit 1; }
