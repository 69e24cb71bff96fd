// Numbers that follow from a thread's own number: coordinates, addresses, tests of who takes part. As data,
// so that they can be worked out when compiling and made into code from the same description.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "codegen/ir/layout.h"

namespace heddle::codegen {

// constant + the sum over terms of (thread + ahead) / divisor % modulus * factor.
struct ThreadSum {
  struct Term {
    int64_t ahead = 0;
    int64_t divisor = 1;
    int64_t modulus = 0;  // 0: none
    int64_t factor = 1;
    friend auto operator<=>(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  int64_t constant = 0;

  friend auto operator<=>(const ThreadSum&, const ThreadSum&) = default;

  int64_t of(int64_t thread) const;
  ThreadSum& operator+=(const ThreadSum& other);
  ThreadSum& operator+=(int64_t number);
};
ThreadSum operator*(ThreadSum sum, int64_t factor);

// `count` bits of the thread's number, from bit `from` on, as a number.
ThreadSum thread_bits(int from, int count);

// What a thread adds to a register's coordinate along `axis`; its warp alone for `warps_only`.
ThreadSum thread_coordinate(const ir::Layout& layout, int axis, bool warps_only = false);

// 0 for the first of the threads that hold copies of the same elements, more for the others; no terms where
// there are no copies.
ThreadSum copies_before(const ir::Layout& layout);

}  // namespace heddle::codegen
