// What is known of integers and addresses before they are computed: the proofs behind wide accesses.
#pragma once

#include <array>
#include <optional>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// A number that surely divides the i64 scalar `value`; 1 if nothing is known. Zero is divided by all: it
// gives kAnyDivisor.
inline constexpr int64_t kAnyDivisor = int64_t(1) << 40;
int64_t known_divisor(const ir::Value* value);

// An i64 tile, or the element offsets of a tile of pointers from one base pointer, as base + the sum over
// axes of step[axis] * coordinate.
struct Affine {
  int64_t base_divisor = 1;  // of the base (with the base pointer's own alignment, in elements)
  std::array<int64_t, ir::kMaxRank> step{};
};
std::optional<Affine> affine(const ir::Function& function, const ir::Value* value);

// How many neighbours along `axis` of a tile may be moved as one: a power of two of at most 16 bytes, whose
// first element is surely aligned; 1 if nothing is known. `access` is a load, store, load_view or store_view.
struct WideAccess {
  int axis = 0;  // of the tile, along which memory is contiguous, or its last
  int64_t elements = 1;
};
WideAccess wide_access(const ir::Function& function, const ir::Op& access);

// Whether a view is known to have base and pitch at multiples of 16 bytes and unit stride along `axis`.
bool is_wide_along(const ir::Function& function, const ir::Value* view, int axis);

// Renames registers of its operand, and is made again wherever it is used.
bool is_shape_op(ir::Opcode code);

// Whether a reduction gives the same bits in whatever order it folds.
bool is_order_free(ir::ReduceKind kind, DType type);

// Values that each thread still has when a reduction along `axis` comes to the bits that warps hold. Its
// order is from the high coordinate bits down, or where it is free, warps last.
int64_t values_crossing_warps(const ir::Layout& layout, int axis, bool order_free);

}  // namespace heddle::codegen
