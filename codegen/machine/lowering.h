// The state of one lowering, shared by the files that do it.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/ir/builder.h"
#include "codegen/machine/lower.h"
#include "codegen/machine/natural.h"
#include "codegen/machine/placement.h"

namespace heddle::codegen::machine {

// A dot's operand that can go from global to shared memory without passing through registers.
struct Copy {
  const ir::Op* load = nullptr;  // the load_view
  bool transposed = false;       // the dot takes the tile's transpose
  int fast = 0;                  // axis of the operand along which memory is contiguous
};

// A dot's operand in shared memory.
struct Operand {
  ir::Value* buffer = nullptr;
  ir::Value* slot = nullptr;
  bool arrived = true;  // else copies are under way: wait, and meet at a barrier

  // In a loop that loads ahead: the fragments of the first steps of K, already in registers, and the slot
  // where the next turn's are found, once at most `pending` groups of copies are under way.
  ir::Value* fragments = nullptr;
  ir::Value* next_slot = nullptr;
  int64_t pending = 0;
};

class Lowering {
 public:
  Lowering(const ir::Function& from, const Schedule& schedule, const GpuTarget& target, Location where);
  std::unique_ptr<ir::Function> run();

 private:
  friend class Ring;

  // Values of the new function. `tile` gives a tile in a layout, computing or moving it where there is none
  // yet.
  ir::Value* scalar(const ir::Value* old);
  ir::Value* tile(const ir::Value* old, const ir::Layout& layout);
  ir::Value* recompute(const ir::Op& op, const ir::Layout& layout);
  ir::Value* move(ir::Value* value, const ir::Layout& layout);
  BufferLayout place_to_move(const ir::Type& type, const ir::Layout& from, const ir::Layout& to) const;
  void bind(const ir::Value* old, ir::Value* fresh);

  int16_t number(const ir::Layout& layout);
  const ir::Layout& layout_of(const ir::Value* fresh) const {
    return out_->layouts[size_t(fresh->type.layout)];
  }

  // Ops.
  void ops(const ir::Region& from);
  void op(const ir::Op& op);
  void plain(const ir::Op& op, const ir::Layout* layout);
  void memory(const ir::Op& op);
  void reduce(const ir::Op& op);
  void dot(const ir::Op& op);
  void if_else(const ir::Op& op);
  void while_loop(const ir::Op& op);
  void for_loop(const ir::Op& op);
  std::vector<ir::Value*> states(const std::vector<ir::Value*>& old, size_t skip, const ir::Op& op);
  std::vector<ir::Type> state_types(const ir::Op& op);

  ir::Layout layout_to_store(const ir::Op& store);

  // Where one region of the old function is lowered into one of the new. What was made in it is dropped
  // after, and so are its buffers in shared memory.
  class Scope {
   public:
    Scope(Lowering& lowering, ir::Op& owner, const ir::Region& from);
    ~Scope();
    ir::Region& region;

   private:
    Lowering& lowering_;
    ir::Region& outer_;
    const size_t mark_;
    const int64_t live_bytes_;
    const bool reads_, writes_;
  };

  // Dots.
  std::optional<Copy> copy_of(const ir::Op& dot, size_t index) const;
  Operand operand(const ir::Op& dot, size_t index);
  ir::Value* load_fragments(const ir::Op& dot, size_t index, ir::Value* buffer, ir::Value* slot, int64_t k);
  ir::Value* multiply_ahead(const ir::Op& dot, std::array<Operand, 2> operands, ir::Value* accumulator);
  // `fast` is the axis along which memory is contiguous if copies write it. Without, a tile in layout `from`
  // is stored into it.
  ir::Value* make_buffer(const ir::Op& dot, size_t index, int fast);
  ir::Value* make_buffer(const ir::Op& dot, size_t index, const ir::Layout& from);
  ir::Type operand_memory(const ir::Op& dot, size_t index) const;
  std::vector<SharedAccess> operand_reads(const BufferLayout& memory, const ir::Op& dot, size_t index) const;
  void copy(const Copy& copy, ir::Value* buffer, ir::Value* slot);
  bool issue_copy(const ir::Op& load);

  // Memory of the CTA: a stack. A buffer lives as long as the region that made it, a staging buffer until it
  // has been stored and read back. Whoever writes first waits at a barrier for those who read what lay there.
  ir::Value* shared(const BufferLayout& memory, const ir::Type& type, bool staging);
  void barrier();
  // Keeps program order between what different threads read and write in global memory.
  void order_memory(bool writes);

  const ir::Function& from_;
  const Schedule& schedule_;
  const GpuTarget& target_;
  const Location where_;
  const int64_t warps_;
  std::unique_ptr<ir::Function> out_;
  ir::Builder build_;
  NaturalLayouts natural_;
  std::unordered_map<const ir::Value*, ir::Value*> scalars_;
  std::unordered_map<const ir::Value*, std::vector<ir::Value*>> tiles_;
  std::vector<const ir::Value*> made_;  // keys of tiles_, in order, so that a region's can be dropped
  std::unordered_map<const ir::Value*, std::vector<const ir::Op*>> users_;
  std::unordered_map<const ir::Op*, Operand> copied_;    // by load: copies that were issued
  int64_t live_bytes_ = 0;                               // of shared memory, here
  int64_t most_bytes_ = 0;                               // anywhere so far
  int64_t staging_bytes_ = 0;                            // of the largest staging buffer so far
  bool reads_pending_ = false, writes_pending_ = false;  // in global memory since the last barrier
};

}  // namespace heddle::codegen::machine
