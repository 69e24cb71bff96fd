// Runs a function in the interpreter and compiled for several processors on equal memory, and compares every
// byte. Memory of each argument lies against a page that can't be touched, once at its end, once at its
// start.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/ir.h"

namespace heddle::test {

// What a parameter gets. Arguments with one `memory` number share a buffer (default: one of their own).
struct HostArgument {
  std::vector<int64_t> extents{};  // of a view; of a pointer: {elements}
  std::vector<int64_t> strides{};  // of a view; empty = row-major
  int64_t scalar = 0;              // a scalar's bits
  int memory = -1;
  int64_t offset = 0;            // elements of the buffer before the view's or pointer's own first
  std::vector<double> values{};  // initial contents in memory order, repeated; empty = random bits that suit
  std::vector<uint64_t> bits{};  // instead of values: each element's own bits

  static HostArgument view(std::vector<int64_t> extents, std::vector<int64_t> strides = {}) {
    return {.extents = std::move(extents), .strides = std::move(strides)};
  }
  static HostArgument pointer(int64_t elements) { return {.extents = {elements}}; }
  static HostArgument number(int64_t bits) { return {.scalar = bits}; }
};

struct HostCheckOptions {
  uint64_t seed = 1;
  bool special_values = true;  // infinities, NaN, subnormals, extremes among random contents
  bool second = true;          // on x86-64-v2 as well: the plain vectors, with a few more instructions
  int64_t worker = 0;
  std::vector<int64_t> work = {1, 1, 1, 1, 1};
  int processor = -1;  // which one of those to compile for, modulo their number; -1 = each
};

// Empty when all agree; else which processor differs where, first differences first. Processors: this one,
// the plain one of this architecture, and what lies between.
std::string host_difference(const ir::Function& function, const std::vector<HostArgument>& arguments,
                            const HostCheckOptions& options = {});
std::string host_difference(std::string_view text, const std::vector<HostArgument>& arguments,
                            const HostCheckOptions& options = {});

// The same between two functions of one signature, both interpreted: empty when `found` leaves in memory what
// `expected` does.
std::string interpreted_difference(const ir::Function& expected, const ir::Function& found,
                                   const std::vector<HostArgument>& arguments,
                                   const HostCheckOptions& options = {});

}  // namespace heddle::test
