// The state of one compilation, shared by all files that make LLVM IR, and the loop nests they write.
//
// Code is appended to levels. Level 0 is the straight-line code of the current region; inside a nest, level n
// is the body of the n-th loop. Each level stays open until its loop is closed, so an expression that does
// not depend on the inner loops is put where it runs less often, and remembered (Level::memo) until then.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/host/cpu.h"
#include "codegen/host/plan.h"
#include "codegen/host/scratch.h"
#include "codegen/ir/ir.h"
#include "codegen/llvm/lane_builder.h"

namespace heddle::codegen::host {

// A coordinate inside a tile, i64, and the level at which it is known.
struct Index {
  llvm::Value* value = nullptr;
  int level = 0;
};

// The lanes of a tile at which an expression is wanted: one, or `width` neighbours along `axis` from
// index[axis] on, of which the first `valid` exist (what the others hold means nothing).
struct Lanes {
  std::array<Index, ir::kMaxRank> index{};
  int rank = 0;
  int axis = -1;
  int width = 1;
  int valid = 1;

  int level() const;
};

// A tile of a view, as clipped against the view's extents: lane indices in [low, high) on each axis are
// inside.
struct Window {
  llvm::Value* base = nullptr;                                   // address of lane 0
  std::array<llvm::Value*, ir::kMaxRank> low{}, high{}, step{};  // step: bytes between lanes
  std::array<int64_t, ir::kMaxRank> extents{};
  llvm::Value* inside = nullptr;   // i1: all lanes are
  llvm::Value* present = nullptr;  // i1: the leading coordinates are; null = there are none
};

// What stands for an ir::Value in the code. Lazy tile values have no binding, but may have a window.
struct View {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> extents, strides;
};

struct Level {
  llvm::BasicBlock* block;
  struct Key {
    const void* what;
    std::array<const void*, ir::kMaxRank> index;
    int axis, width, valid;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, llvm::Value*, Hash> memo;
};

struct Owned {
  const ir::Value* value;
  Tile tile;
};

struct Emitter : LaneBuilder {
  Emitter(const ir::Function& function, const Cpu& cpu, llvm::Module& module);

  const ir::Function& function;
  const Cpu& cpu;
  const Plan plan;
  llvm::Function* entry = nullptr;
  llvm::Value* scratch_base = nullptr;
  llvm::Value* work = nullptr;
  llvm::Value* worker = nullptr;
  ScratchAllocator scratch;

  std::unordered_map<const ir::Value*, llvm::Value*> scalars;
  std::unordered_map<const ir::Value*, Tile> tiles;
  std::unordered_map<const ir::Value*, View> views;
  std::unordered_map<const ir::Op*, Window> windows;  // of load_view and store_view
  // Where a value should be put when it is made, and the value whose memory that is until then (or null).
  std::unordered_map<const ir::Value*, Tile> preferred;
  std::unordered_map<const ir::Value*, const ir::Value*> preferred_holder;
  std::vector<Owned> owned;  // tiles to be released after their value's last use, outer regions' first
  std::unordered_map<std::string, llvm::Function*> kernels;  // of dots, by name
  std::vector<Level> levels;
  // In the nest being made, every view access was found to be inside its view.
  bool all_inside = false;

  // Positions the builder at the end of a level.
  llvm::IRBuilder<>& at(int level);
  llvm::IRBuilder<>& here() { return at(int(levels.size()) - 1); }
  // The builder has moved on to another block of this level.
  void moved(int level) { levels[level].block = builder.GetInsertBlock(); }
  // Forgets remembered expressions: memory may have changed.
  void forget();

  llvm::BasicBlock* new_block(const char* name);
  // A function without result, private to the module.
  llvm::Function* new_function(const std::string& name, const std::vector<llvm::Type*>& parameters);
  llvm::Type* scalar_type(const ir::Type& type);
  llvm::Value* scalar(const ir::Value* value) const { return scalars.at(value); }

  // Constants and types.
  llvm::ConstantInt* index(int64_t value) { return builder.getInt64(uint64_t(value)); }
  llvm::Type* lanes_type(llvm::Type* element, int width);  // the element itself for width 1
  llvm::Value* splat(llvm::Value* value, int width);
  llvm::Constant* lane_numbers(int width);  // i64: 0, 1, ... width-1

  // A loop `for (i = begin; i < end; i += step)` that runs at least once, around body(i). Opens a level.
  void loop(int64_t begin, int64_t end, int64_t step, const std::function<void(Index)>& body);

  // Scratch memory.
  Tile allocate(const ir::Type& type);
  void release(const Tile& tile) { scratch.give(tile.offset, tile.bytes); }
  llvm::Value* scratch_at(int64_t offset);
};

// Lanes per vector for code whose widest arithmetic takes `lane_bytes`, along an axis of this extent.
int vector_width(const Emitter& e, int lane_bytes, int64_t extent);

// Loops over all lanes of a tile, vectors along `axis` innermost. body sees whole vectors, then once the
// rest.
void for_each_lanes(Emitter& e, const ir::Type& type, int axis, int lane_bytes,
                    const std::function<void(const Lanes&)>& body);
// The axis along which for_each_lanes should run for a tile kept in scratch.
int inner_axis(const ir::Type& type);

// Runs `nest` in one version, or two where views that `values` read may be cut by their extents: the common
// one for tiles that lie inside all of them.
void versioned(Emitter& e, const std::vector<const ir::Value*>& values, llvm::Value* also_inside,
               const std::function<void()>& nest);

}  // namespace heddle::codegen::host
