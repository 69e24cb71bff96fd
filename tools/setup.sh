#!/bin/bash
# Installs what Heddle needs from Debian's own packages, if anything is missing. May be run as often as you like.
# usage: tools/setup.sh [--tests]     --tests: also what only the tests need
set -euo pipefail

packages=(
  g++ cmake ninja-build               # the build
  llvm-19-dev zlib1g-dev libzstd-dev  # the code generator, linked statically
  libfmt-dev libxxhash-dev nlohmann-json3-dev
  libcli11-dev                        # the samples' options
  libopenblas0-pthread                # what the samples compare themselves with
  lld-19 ccache                       # faster builds
)
if [[ ${1:-} == --tests ]]; then
  packages+=(doctest-dev clang-19 pkg-config clang-format-19 codespell libllvm14)
fi

if ! command -v apt-get >/dev/null; then
  echo "setup: no apt-get here; Heddle needs what these Debian packages hold: ${packages[*]}"
  exit 0
fi
missing=()
for package in "${packages[@]}"; do
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
    missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "setup: all packages are there"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
if ! { "${as_root[@]}" apt-get update &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
         -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  tail -20 "$log" >&2
  echo "setup: apt-get failed; all it said is in $log" >&2
  exit 1
fi
rm -f "$log"
