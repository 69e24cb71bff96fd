// Checks before anything runs: a bad argument must not become a fault inside a kernel.
#include "runtime/arguments.h"

#include "codegen/ir/fail.h"

namespace heddle::runtime {

namespace {

// The bytes a view's elements span around its base must be addressable: kernels compute addresses in i64.
void check_span(const KernelSource& kernel, const Argument& argument, int position, Location where) {
  int64_t below = 0, above = argument.rank ? size_bytes(argument.element) : 0;
  bool overflow = false;
  for (int axis = 0; axis < argument.rank; ++axis) {
    if (argument.extents[axis] == 0) return;
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(argument.extents[axis] - 1, argument.strides[axis], &reach);
    overflow |= __builtin_mul_overflow(reach, size_bytes(argument.element), &reach);
    overflow |= __builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above);
  }
  uint64_t address = 0;
  overflow |= __builtin_add_overflow(argument.bits, uint64_t(above), &address);
  overflow |= __builtin_sub_overflow(argument.bits, uint64_t(-below), &address);
  if (overflow)
    fail(ErrorKind::launch, where,
         "kernel '{}': argument {} spans more memory than can be addressed; check its extents and strides",
         kernel.name, position);
}

// Axis along which neighbours are adjacent; the last one is preferred.
int8_t unit_stride_axis(const Argument& argument) {
  for (int axis = argument.rank - 1; axis >= 0; --axis)
    if (argument.strides[axis] == 1) return int8_t(axis);
  return -1;
}

}  // namespace

bool is_empty(const Argument& argument) {
  for (int axis = 0; axis < argument.rank; ++axis)
    if (argument.extents[axis] == 0) return true;
  return false;
}

void pack(const KernelSource& kernel, const Argument* arguments, int count, PackedArguments& packed,
          Location where) {
  if (count > kMaxArguments)
    fail(ErrorKind::launch, where, "kernel '{}' has {} arguments; at most {} fit", kernel.name, count,
         kMaxArguments);
  packed.count = count;
  int slot = 0;
  for (int position = 0; position < count; ++position) {
    const Argument& argument = arguments[position];
    packed.first_slot[position] = slot;
    packed.facts[position] = {};
    packed.slots[slot++] = int64_t(argument.bits);
    if (argument.kind == Argument::Kind::scalar) continue;
    if (argument.kind == Argument::Kind::view) {
      for (int axis = 0; axis < argument.rank; ++axis)
        if (argument.extents[axis] < 0)
          fail(ErrorKind::launch, where, "kernel '{}': argument {} has the negative extent {} on axis {}",
               kernel.name, position, argument.extents[axis], axis);
      check_span(kernel, argument, position, where);
      for (int axis = 0; axis < argument.rank; ++axis) packed.slots[slot++] = argument.extents[axis];
      for (int axis = 0; axis < argument.rank; ++axis) packed.slots[slot++] = argument.strides[axis];
      packed.facts[position].unit_stride_axis = unit_stride_axis(argument);
    }
  }
  packed.slot_count = slot;
}

void note_alignment(const Argument* arguments, int count, PackedArguments& packed) {
  for (int position = 0; position < count; ++position) {
    const Argument& argument = arguments[position];
    if (argument.kind == Argument::Kind::scalar) continue;
    bool aligned = argument.bits % 16 == 0;
    if (argument.kind == Argument::Kind::view)
      for (int axis = 0; axis < argument.rank; ++axis)
        if (axis != packed.facts[position].unit_stride_axis)
          aligned &= uint64_t(argument.strides[axis]) * uint64_t(size_bytes(argument.element)) % 16 == 0;
    packed.facts[position].aligned16 = aligned;
  }
}

void check_memory(const KernelSource& kernel, const Argument* arguments, int count, Location where) {
  for (int position = 0; position < count; ++position) {
    const Argument& argument = arguments[position];
    if (argument.kind == Argument::Kind::scalar || is_empty(argument)) continue;
    if (argument.bits == 0)
      fail(ErrorKind::launch, where,
           "kernel '{}': argument {} is a null {}; pass memory that holds its elements", kernel.name,
           position, argument.kind == Argument::Kind::view ? "view" : "pointer");
    if (argument.bits & uint64_t(size_bytes(argument.element) - 1))  // sizes are powers of two
      fail(ErrorKind::launch, where,
           "kernel '{}': argument {} at address {:#x} is not aligned to its {}-byte element", kernel.name,
           position, argument.bits, size_bytes(argument.element));
  }
}

}  // namespace heddle::runtime
