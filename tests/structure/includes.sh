#!/bin/bash
# The arrows between the rooms (docs/architecture.md), and what a user's file pulls in.
# usage: includes.sh <source> <C++ compiler> <public header patterns ...>
set -euo pipefail
cd "$1"
cxx=$2
public=$(printf '%s\n' ${@:3})  # unquoted: the patterns are expanded here
public_pattern="^($(paste -sd'|' <<<"${public//./\\.}"))$"
failed=0

# Prints "file:line: path" for every include of a file of ours below the given folders.
own_includes() {
  local rooms=()
  for room in "$@"; do if [[ -d $room ]]; then rooms+=("$room"); fi; done
  ((${#rooms[@]})) || return 0
  grep -rnE '^ *# *include +["<](dsl|codegen|runtime)/' "${rooms[@]}" --include=*.h --include=*.cpp --include=*.def |
    sed -E 's/: *# *include +["<]([^">]*)[">].*/: \1/' || true
}

# allow <room> <pattern of what it may include>
allow() {
  local bad
  bad=$(own_includes "$1" | awk -v allowed="$2" '$2 !~ allowed' || true)
  if [[ -n $bad ]]; then
    echo "$1/ may include only $2:" >&2
    echo "$bad" >&2
    failed=1
  fi
}
allow dsl '^(dsl/|codegen/ir/|runtime/(launch|buffer|stream|tensor)[.]h$)'
allow codegen '^codegen/'
allow runtime '^(runtime/|codegen/ir/|codegen/compile[.]h$)'
allow samples "$public_pattern"
allow bench "$public_pattern"

# LLVM's headers: in the folders of the two targets that use it.
llvm=$(grep -rnE '^ *# *include +["<]llvm(-c)?/' --include=*.h --include=*.cpp . | grep -vE '^\./(codegen/(llvm|host|nvptx)|build[^/]*)/' || true)
if [[ -n $llvm ]]; then
  echo "LLVM's headers outside codegen/llvm, codegen/host and codegen/nvptx:" >&2
  echo "$llvm" >&2
  failed=1
fi

# Each public header compiles alone, and reaches only public headers and the standard library.
for header in $public; do
  [[ -e $header && $header != *.def ]] || continue
  reached=$("$cxx" -std=c++20 -I. -w -M -x c++ "$header" | tr -d '\\' | tr ' ' '\n' | grep -v ':$' | sort -u)
  heavy=$(grep -E '/(llvm|fmt|nlohmann|cuda|spdlog)[^/]*/|/cuda[^/]*\.h$' <<<"$reached" || true)
  private=$(grep -E '^(\./)?(dsl|codegen|runtime)/' <<<"$reached" | sed 's,^\./,,' | grep -vE "$public_pattern" || true)
  if [[ -n $heavy$private ]]; then
    echo "a user who includes $header gets" $heavy $private >&2
    failed=1
  fi
  "$cxx" -std=c++20 -I. -w -fsyntax-only -x c++ "$header" || failed=1
done
((failed == 0))
