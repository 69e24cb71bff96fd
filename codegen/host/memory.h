// Loads and stores of lanes: addresses and guards, for scratch tiles, views and pointers. Lanes that a guard
// excludes never touch memory.
#pragma once

#include "codegen/host/emitter.h"

namespace heddle::codegen::host {

// Addresses of lanes: lane i is at base + i * step + offsets[i].
struct Access {
  llvm::Value* base = nullptr;
  llvm::Value* step = nullptr;     // bytes, i64
  llvm::Value* offsets = nullptr;  // bytes, i64 lanes; null = none
};

// Which lanes may be touched. `all` null = all of them, known now; else an i1 that is computed, and `mask`
// makes the lanes' i1s in the uncommon case that it is false.
struct Guard {
  llvm::Value* all = nullptr;
  std::function<llvm::Value*()> mask;
};

// At `level`, where access, guard, value and fill are known. `fill` is a whole set of lanes; null = zeros.
llvm::Value* load_lanes(Emitter& e, int level, DType element, const Access& access, const Lanes& lanes,
                        const Guard& guard, llvm::Value* fill);
void store_lanes(Emitter& e, int level, DType element, const Access& access, const Lanes& lanes,
                 const Guard& guard, llvm::Value* value);

// Scratch tiles. `type` gives the element; pointers are held as i64.
llvm::Value* load_tile(Emitter& e, const Tile& tile, const ir::Type& type, const Lanes& lanes);
void store_tile(Emitter& e, const Tile& tile, const ir::Type& type, const Lanes& lanes, llvm::Value* value);

// Views. make_window computes, at level 0, the window of a load_view or store_view op.
Window make_window(Emitter& e, const ir::Op* op);
Access window_access(Emitter& e, const Window& window, const Lanes& lanes);
Guard window_guard(Emitter& e, const Window& window, const Lanes& lanes);

// The guard for an explicit mask; all lanes for null.
Guard mask_guard(Emitter& e, llvm::Value* mask, const Lanes& lanes);

}  // namespace heddle::codegen::host
