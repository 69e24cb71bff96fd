#!/bin/bash
# Installs Heddle, moves the installed tree, and builds an outside project against it by find_package and by pkg-config.
# usage: test.sh <source> <build> <work folder> <C++ compiler>
set -euo pipefail
source=$1 build=$2 work=$3 cxx=$4
here=$source/tests/package
rm -rf "$work" && mkdir -p "$work"

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved

echo "== no installed file knows where it was built"
if grep -rlF -e "$build/" -e "$source/codegen/" -e "$source/runtime/" -e "$source/dsl/" -e "$work/first" "$prefix"; then
  echo "these files contain a path of the build" >&2
  exit 1
fi

echo "== nothing installed mentions what is inside"
if grep -rliE 'llvm|fmt' "$prefix/include" "$prefix"/lib*/cmake "$prefix"/lib*/pkgconfig; then
  echo "these files would make users need LLVM or fmt" >&2
  exit 1
fi

echo "== find_package"
cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$work/configure.log"
cmake --build "$work/consumer" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/consumer/consumer"

echo "== pkg-config"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name heddle.pc)")
libdir=$(pkg-config --variable=libdir heddle)
# shellcheck disable=SC2046  # flags are words
"$cxx" -std=c++20 "$here/consumer/main.cpp" -o "$work/by-pkg-config" $(pkg-config --cflags --libs heddle) \
  -Wl,-rpath,"$libdir"
"$work/by-pkg-config"
