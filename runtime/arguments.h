// Launch arguments: checked, flattened to slots, and described by yes/no facts.
#pragma once

#include <cstdint>

#include "codegen/compile.h"
#include "runtime/launch.h"

namespace heddle::runtime {

inline constexpr int kMaxArguments = 64;
inline constexpr int kMaxSlots = kMaxArguments * (1 + 2 * kMaxViewRank);

// Fixed-size, so that a repeated launch allocates nothing.
struct PackedArguments {
  int64_t slots[kMaxSlots];
  int first_slot[kMaxArguments];
  union {  // so that no more are written than there are arguments
    ArgumentFacts facts[kMaxArguments];
  };
  int count = 0;
  int slot_count = 0;

  PackedArguments() {}
  codegen::ArgumentSlots view() const { return {slots, first_slot}; }
};

// Throws Error (launch), naming the argument by position, for negative extents and for views that reach
// beyond the address space.
void pack(const KernelSource& kernel, const Argument* arguments, int count, PackedArguments& packed,
          Location where);

// Adds which arguments have base and pitches at multiples of 16 bytes: what wide and asynchronous copies of a
// GPU need. CPU code gains nothing by it, and would be compiled twice.
void note_alignment(const Argument* arguments, int count, PackedArguments& packed);

// Of a view: it has no element.
bool is_empty(const Argument& argument);

// For launches that run at least one worker: throws Error (launch) for null memory where elements are meant,
// and for memory that is not aligned to its element.
void check_memory(const KernelSource& kernel, const Argument* arguments, int count, Location where);

}  // namespace heddle::runtime
