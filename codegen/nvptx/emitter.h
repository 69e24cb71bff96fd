// The state of one compilation, shared by all files that make LLVM IR for NVIDIA GPUs. Each thread runs the
// code; a tile is the list of its registers in the thread, by the numbers of its layout.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/llvm/lane_builder.h"

namespace heddle::codegen::nvptx {

using Registers = std::vector<llvm::Value*>;

inline constexpr unsigned kGlobal = 1, kShared = 3;  // LLVM's address spaces

struct View {
  llvm::Value* base = nullptr;  // ptr addrspace(1)
  std::vector<llvm::Value*> extents, strides;
};

struct Emitter : LaneBuilder {
  Emitter(const ir::Function& function, llvm::Module& module);

  const ir::Function& function;
  llvm::Function* entry = nullptr;
  llvm::BasicBlock* prologue = nullptr;    // runs first; what depends on the thread alone is put there
  llvm::GlobalVariable* shared = nullptr;  // the CTA's dynamic shared memory
  llvm::Value* thread = nullptr;           // i32, along x
  llvm::Value* worker = nullptr;           // i64
  std::vector<llvm::Value*> work_params;
  std::unordered_map<const ir::Value*, llvm::Value*> scalars;
  std::unordered_map<const ir::Value*, Registers> tiles;
  std::unordered_map<const ir::Value*, View> views;

  static bool is_tile(const ir::Value* value) {
    return value->type.rank > 0 &&
           (value->type.kind == ir::Type::Kind::data || value->type.kind == ir::Type::Kind::pointer);
  }
  const ir::Layout& layout(const ir::Value* tile) const {
    return function.layouts[size_t(tile->type.layout)];
  }
  llvm::Value* scalar(const ir::Value* value) const { return scalars.at(value); }
  // The one register of a scalar, or those of a tile.
  Registers registers(const ir::Value* value) const;
  void bind(const ir::Value* value, Registers registers);
  llvm::Type* register_type(const ir::Type& type);

  llvm::ConstantInt* i32(int64_t value) { return builder.getInt32(uint32_t(value)); }
  llvm::ConstantInt* i64(int64_t value) { return builder.getInt64(uint64_t(value)); }
  llvm::BasicBlock* new_block(const char* name);

  // What the thread adds to a register's coordinate along `axis`, i32; of its warp alone for `warps_only`.
  llvm::Value* thread_coordinate(const ir::Layout& layout, int axis, bool warps_only = false);
  // i1: this thread is the first of those that hold copies. Null where no bit holds copies.
  llvm::Value* is_owner(const ir::Layout& layout);
  // Address in shared memory, ptr addrspace(3), of byte `offset`.
  llvm::Value* shared_at(llvm::Value* offset);

  // Inline PTX. `effects`: it touches memory or other threads, and keeps its place.
  llvm::Value* assembly(const std::string& text, const std::string& constraints, llvm::Type* result,
                        const std::vector<llvm::Value*>& operands, bool effects);
  void barrier();

 private:
  std::unordered_map<std::string, llvm::Value*> coordinates_;
};

// By file: region.cpp, memory.cpp, shared.cpp, mma.cpp, reduce.cpp, quotient.cpp.
void emit_region(Emitter& e, const ir::Region& region);
void emit_load(Emitter& e, const ir::Op* op);   // load, load_view
void emit_store(Emitter& e, const ir::Op* op);  // store, store_view
void emit_store_shared(Emitter& e, const ir::Op* op);
void emit_load_shared(Emitter& e, const ir::Op* op);
void emit_copy_async(Emitter& e, const ir::Op* op);
void emit_mma(Emitter& e, const ir::Op* op);
void emit_reduce(Emitter& e, const ir::Op* op);
Registers quotients(Emitter& e, const Registers& x, const Registers& d);  // of f32, lane by lane
Registers square_roots(Emitter& e, const Registers& x);

// A shared buffer's memory: where element `at` of `slot` lies, as bytes from the start of shared memory.
struct BufferLayout {
  explicit BufferLayout(const ir::Value* buffer);
  int64_t offset, slots, pitch, slot_bytes, element_bytes;
  int fast;
  std::vector<int64_t> row_stride;  // bytes, by axis

  llvm::Value* slot_start(Emitter& e, llvm::Value* slot) const;  // i32, bytes from the start of shared memory
};

// Moves `bytes` (1, 2, 4, 8 or 16) of packed registers where `predicate` holds (null: always); a load gives
// `otherwise` elsewhere.
Registers load_packed(Emitter& e, unsigned space, llvm::Value* address, const Registers& otherwise,
                      DType element, llvm::Value* predicate);
void store_packed(Emitter& e, unsigned space, llvm::Value* address, const Registers& values, DType element,
                  llvm::Value* predicate);

}  // namespace heddle::codegen::nvptx
