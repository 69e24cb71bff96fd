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
  packages+=(doctest-dev clang-19 pkg-config clang-format-19 codespell libllvm14 python3 python3-pip)
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

# The tests assemble every kernel's PTX. Where no CUDA toolkit is installed, NVIDIA's own package brings its assembler.
bring_ptxas() {
  local tools=$HOME/.cache/heddle-tools folder wheel
  if [[ ${HEDDLE_PTXAS:-driver} != driver ]] || command -v ptxas >/dev/null; then return; fi
  for folder in "${CUDA_HOME:-}/bin" "${CUDA_PATH:-}/bin" /usr/local/cuda/bin "$tools"; do
    if [[ -x $folder/ptxas ]]; then return; fi
  done
  echo "setup: fetching ptxas (nvidia-cuda-nvcc)"
  wheel=$(mktemp -d)
  python3 -m pip download --quiet --no-deps --dest "$wheel" nvidia-cuda-nvcc
  python3 -m zipfile --extract "$wheel"/*.whl "$wheel/content"
  mkdir -p "$tools"
  install -m 755 "$(find "$wheel/content" -name ptxas -type f | head -1)" "$tools/ptxas"
  rm -r "$wheel"
}

if ((${#missing[@]} == 0)); then
  echo "setup: all packages are there"
  if [[ ${1:-} == --tests ]]; then bring_ptxas; fi
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
if [[ ${1:-} == --tests ]]; then bring_ptxas; fi
