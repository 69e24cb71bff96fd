# Shared by the scripts beside it; sourced from the repository's root.

# build <preset> <target> [CMake options]: configures and builds. Says one line if all is well, everything otherwise.
build() {
  local preset=$1 target=$2 log
  log=$(mktemp)
  echo "build: $target, $preset (a first build takes some minutes)"
  if ! { cmake --preset "$preset" "${@:3}" && cmake --build --preset "$preset" --target "$target"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "build: failed" >&2
    return 1
  fi
  rm -f "$log"
}
