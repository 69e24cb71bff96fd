// The state of one compilation, shared by all files that make LLVM IR for NVIDIA GPUs. Each thread runs the
// code; a tile is the list of its registers in the thread, by the numbers of its layout.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/llvm/lane_builder.h"
#include "codegen/machine/shared_memory.h"

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

  // i32; what depends on the thread is computed once, in the prologue.
  llvm::Value* thread_value(const ThreadSum& sum);
  llvm::Value* thread_value(const SlotAddress& address);
  llvm::Value* thread_coordinate(const ir::Layout& layout, int axis) {
    return thread_value(codegen::thread_coordinate(layout, axis));
  }
  // i1: this thread takes part. Null where all do.
  llvm::Value* takes_part(const std::vector<Guard>& guards);
  // i1: this thread is the first of those that hold copies. Null where no bit holds copies.
  llvm::Value* is_owner(const ir::Layout& layout);
  // i32: address in shared memory of its byte `offset`.
  llvm::Value* shared_at(llvm::Value* offset);

  // Inline PTX. `effects`: it touches memory or other threads, and keeps its place.
  llvm::Value* assembly(const std::string& text, const std::string& constraints, llvm::Type* result,
                        const std::vector<llvm::Value*>& operands, bool effects);
  void barrier();
  // The same pointer to global memory, of which LLVM knows nothing.
  llvm::Value* hidden(llvm::Value* pointer);

 private:
  std::map<ThreadSum, llvm::Value*> thread_values_;
  std::map<SlotAddress, llvm::Value*> thread_addresses_;
};

// "{$2, $3, $4}": operands of inline PTX, numbered from `first` on; one alone has no braces.
std::string operand_list(int64_t first, int64_t count);

// By file: region.cpp, memory.cpp, shared.cpp, mma.cpp, reduce.cpp, quotient.cpp.
void emit_region(Emitter& e, const ir::Region& region);
void emit_load(Emitter& e, const ir::Op* op);   // load, load_view
void emit_store(Emitter& e, const ir::Op* op);  // store, store_view
void emit_store_shared(Emitter& e, const ir::Op* op);
void emit_load_shared(Emitter& e, const ir::Op* op);
void emit_copy_async(Emitter& e, const ir::Op* op);
void emit_mma(Emitter& e, const ir::Op* op);
void emit_load_fragments(Emitter& e, const ir::Op* op);
void emit_mma_fragments(Emitter& e, const ir::Op* op);
void emit_reduce(Emitter& e, const ir::Op* op);
Registers quotients(Emitter& e, const Registers& x, const Registers& d);  // of f32, lane by lane
Registers square_roots(Emitter& e, const Registers& x);

// i32: address in shared memory of a buffer's slot.
llvm::Value* slot_address(Emitter& e, const BufferLayout& memory, llvm::Value* slot);

// Addresses in one slot. Those that are the same number of bytes apart for every thread share a register; the
// difference goes into the instruction.
class SlotAddresses {
 public:
  // A number that is XORed into the bytes of the slot, i32, and all that it may be.
  struct Turn {
    llvm::Value* flips = nullptr;
    std::vector<int64_t> possible{0};
  };

  // `slot` is an i32 address.
  SlotAddresses(Emitter& e, llvm::Value* slot) : SlotAddresses(e, slot, Turn()) {}
  SlotAddresses(Emitter& e, llvm::Value* slot, Turn turn) : e_(e), slot_(slot), turn_(std::move(turn)) {}

  struct Place {
    llvm::Value* base;  // i32
    int64_t offset;     // bytes to add
  };
  Place operator[](const SlotAddress& address);

 private:
  struct Base {
    SlotAddress address;
    llvm::Value* value;
  };
  bool are_apart(const SlotAddress& address, const SlotAddress& base, int64_t bytes) const;

  Emitter& e_;
  llvm::Value* slot_;
  const Turn turn_;
  std::vector<Base> bases_;
};

// Moves 1, 2, 4, 8 or 16 bytes of packed registers where `predicate` holds (null: always); a load gives
// `otherwise` elsewhere. An address is a pointer to global memory, or a place in shared memory.
Registers load_packed(Emitter& e, llvm::Value* address, const Registers& otherwise, DType element,
                      llvm::Value* predicate);
Registers load_packed(Emitter& e, const SlotAddresses::Place& place, const Registers& otherwise,
                      DType element, llvm::Value* predicate);
void store_packed(Emitter& e, llvm::Value* address, const Registers& values, DType element,
                  llvm::Value* predicate);
void store_packed(Emitter& e, const SlotAddresses::Place& place, const Registers& values, DType element,
                  llvm::Value* predicate);

}  // namespace heddle::codegen::nvptx
