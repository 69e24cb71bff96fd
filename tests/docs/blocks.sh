#!/bin/bash
# Every line of every ```cpp block in README.md and docs/*.md stands, in order, in one of the programs under
# docs/examples, which the tests compile and run. (A README may also show the two lines that every program begins with.)
# usage: blocks.sh <source>
set -euo pipefail
cd "$1"
failed=0 blocks=0
for page in README.md docs/*.md; do
  awk -v page="$page" '
    /^```cpp$/ { inside = 1; start = NR; block = ""; next }
    /^```$/ && inside { inside = 0; print page ":" start "\t" block; next }
    inside && NF { sub(/ *\/\/ .*$/, ""); if (NF) block = block $0 "\x01" }
  ' "$page"
done >"${TMPDIR:-/tmp}/heddle-blocks.$$"
trap 'rm -f "${TMPDIR:-/tmp}/heddle-blocks.$$"' EXIT
while IFS=$'\t' read -r where block; do
  blocks=$((blocks + 1))
  found=0
  for program in docs/examples/*.cpp; do
    # Lines compared without comments and outer blanks; HEDDLE_DIMs may share a line.
    if awk -v block="$block" '
      function plain(s) { sub(/ *\/\/ .*$/, "", s); gsub(/^ +| +$/, "", s); return s }
      BEGIN { count = split(block, wanted, "\x01"); at = 1 }
      { text = plain($0); if (text == "") next; seen[text] = 1; lines[++n] = text }
      END {
        for (i = 1; i < count; i++) {
          line = plain(wanted[i])
          if (line ~ /^HEDDLE_DIM/) {
            parts = split(line, dims, /; */)
            for (p = 1; p <= parts; p++) { d = dims[p]; if (d == "") continue; sub(/;$/, "", d); if (!((d ";") in seen)) exit 1 }
            continue
          }
          while (at <= n && lines[at] != line) at++
          if (at > n) exit 1
          at++
        }
      }' "$program"; then found=1; fi
  done
  if ((found == 0)); then
    echo "$where: this block is in no program under docs/examples" >&2
    failed=1
  fi
done <"${TMPDIR:-/tmp}/heddle-blocks.$$"
((blocks > 0)) || { echo "no code block was found" >&2; exit 1; }
echo "$blocks code blocks"
((failed == 0))
