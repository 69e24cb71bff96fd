// Shared memory as machine programs use it: where a buffer's elements lie, and what each thread touches when
// an op moves them. The emitter makes addresses from these descriptions, and bank conflicts are predicted
// from them. Must not know LLVM.
#pragma once

#include <algorithm>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/machine/banks.h"
#include "codegen/machine/mma.h"
#include "codegen/machine/thread_sum.h"

namespace heddle::codegen {

// A permutation of a slot's bytes: `bits` bits of the offset, from bit `to` up, are XORed with as many from
// bit `from` up. `from` is at least to + bits, so doing it twice is doing nothing.
struct Swizzle {
  int bits = 0, to = 4, from = 7;

  friend auto operator<=>(const Swizzle&, const Swizzle&) = default;
  int64_t mask() const { return (int64_t(1) << bits) - 1; }
  int64_t operator()(int64_t offset) const { return offset ^ (offset >> from & mask()) << to; }
  // What is moved stays in its line, and neighbours stay together in their granule.
  int64_t line() const { return bits ? int64_t(1) << (to + bits) : 1; }
  int64_t granule() const { return bits ? int64_t(1) << to : 16; }
};

// Where the elements of a shared_buffer lie.
struct BufferLayout {
  explicit BufferLayout(const ir::Value* buffer);
  BufferLayout(const ir::Type& type, int64_t pitch, int fast, const Swizzle& swizzle);

  int64_t offset = 0, slots = 1;  // bytes from the start of shared memory
  int64_t pitch, slot_bytes, element_bytes;
  int fast;
  Swizzle swizzle;
  std::array<int64_t, ir::kMaxRank> extents{}, stride{};  // stride in bytes, before the swizzle

  // Of a buffer of rank 2: whether a coordinate along `axis` has bits of the offset to itself. Swizzles are
  // linear over F2, so what it does to an address is then an XOR, of swizzle(stride * coordinate).
  bool has_own_bits(int axis) const;
};

// A byte of a slot, by thread.
struct SlotAddress {
  ThreadSum linear;
  Swizzle swizzle;
  friend auto operator<=>(const SlotAddress&, const SlotAddress&) = default;
  int64_t of(int64_t thread) const { return swizzle(linear.of(thread)); }
};

// A thread takes part where `value` is below `limit`.
struct Guard {
  ThreadSum value;
  int64_t limit;
};

// One instruction that all threads run.
struct SharedAccess {
  int64_t bytes = 4;  // that each lane names the start of
  SlotAddress address;
  std::vector<Guard> guards;
  int lanes = 32;  // whose addresses count: 8 a matrix of an ldmatrix

  WarpAccess of_warp(int64_t warp) const;
};

enum class AccessKind : uint8_t { load, store };

// A tile's registers to or from a buffer: access i moves `width` registers, from i * width on.
struct TileAccess {
  int64_t width = 1;
  std::vector<SharedAccess> accesses;
};
TileAccess tile_access(const BufferLayout& memory, const ir::Layout& layout, AccessKind kind);

// copy_async in pieces of 16 bytes, dealt out row by row: what each thread copies in one turn. `row` and
// `column` count elements along the slow and the fast axis.
struct CopyTurn {
  ThreadSum row, column;
  SharedAccess to;
};
std::vector<CopyTurn> copy_turns(const BufferLayout& memory, int64_t threads);

// One operand's fragments of an instruction of the tensor cores. By ldmatrix (PTX ISA, "Warp-level matrix
// load instruction: ldmatrix") where they are 8 x 8 matrices of 16 bits: each group of eight lanes names the
// rows of one matrix, lane l the row l % 8 of matrix l / 8. A matrix is a register of the fragment; those of
// one block along the operand's outer axis (A's M, B's N) come in order, then those of the next. Wider and
// narrower elements count where their K lies along rows: 16 bytes of it are then a row. Else one element at a
// time.
class Fragments {
 public:
  // `k_axis` of the buffer is the dot's K: 1 for A, 0 for B.
  Fragments(const BufferLayout& memory, const MmaInstruction& instruction, int k_axis,
            const ir::Layout& accumulator);
  // Elements that share one, and registers of a block.
  int64_t in_register() const { return std::max<int64_t>(1, 4 / memory_.element_bytes); }
  int64_t registers() const { return fragment_.register_count() / in_register(); }
  bool by_matrices() const {
    return memory_.element_bytes == 2 || (memory_.element_bytes <= 4 && !transposed());
  }
  // Whether the matrices lie with K along rows: ldmatrix's .trans.
  bool transposed() const { return memory_.fast != k_axis_; }
  // Of the instruction's steps of K from `k` on: the registers of blocks `first` to `first` + `count`.
  std::vector<SharedAccess> loads(int64_t k, int64_t first, int64_t count) const;
  std::vector<SharedAccess> loads(int64_t k) const { return loads(k, 0, blocks_); }  // of all

 private:
  BufferLayout memory_;
  ir::Layout fragment_;
  int k_axis_;
  ThreadSum lane_;  // before the swizzle
  int64_t blocks_, block_bytes_;
};

// Elements of one operand of a dot that is computed by fma: `elements` of them from coordinate `at` of a
// thread's registers, for one step of K, or one of them for `steps` steps.
struct ColumnLoad {
  int64_t at = 0, elements = 1, steps = 1;
  SharedAccess access;
};
// Of the steps of K from `k` on that are loaded together, chain_steps() many.
std::vector<ColumnLoad> column_loads(const BufferLayout& memory, int k_axis, const ir::Layout& accumulator,
                                     int64_t k);
int64_t chain_steps(const BufferLayout& memory, int k_axis);

// Steps of K of such a dot, a divisor of `extent`, after which for every thread both operands' addresses
// have moved by as many bytes, or by an XOR with as many; all of them where there is none below.
int64_t chain_block(const BufferLayout& a, const BufferLayout& b, int64_t extent);

}  // namespace heddle::codegen
