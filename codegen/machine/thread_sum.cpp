#include "codegen/machine/thread_sum.h"

namespace heddle::codegen {

using ir::Layout;

int64_t ThreadSum::of(int64_t thread) const {
  int64_t sum = constant;
  for (const Term& term : terms) {
    const int64_t quotient = (thread + term.ahead) / term.divisor;
    sum += (term.modulus ? quotient % term.modulus : quotient) * term.factor;
  }
  return sum;
}

ThreadSum& ThreadSum::operator+=(const ThreadSum& other) {
  terms.insert(terms.end(), other.terms.begin(), other.terms.end());
  constant += other.constant;
  return *this;
}

ThreadSum& ThreadSum::operator+=(int64_t number) {
  constant += number;
  return *this;
}

ThreadSum operator*(ThreadSum sum, int64_t factor) {
  for (ThreadSum::Term& term : sum.terms) term.factor *= factor;
  sum.constant *= factor;
  return sum;
}

ThreadSum thread_bits(int from, int count) {
  return {.terms = {{.divisor = int64_t(1) << from, .modulus = int64_t(1) << count}}};
}

ThreadSum thread_coordinate(const Layout& layout, int axis, bool warps_only) {
  std::vector<Layout::Bit> bits = layout.lanes;
  bits.insert(bits.end(), layout.warps.begin(), layout.warps.end());
  // Runs of neighbouring thread bits that move neighbouring coordinate bits: one term each.
  struct Run {
    int from, to, count;
  };
  std::vector<Run> runs;
  for (int i = warps_only ? Layout::kLaneBits : 0; i < int(bits.size()); ++i) {
    if (bits[size_t(i)].axis != axis) continue;
    const int shift = bits[size_t(i)].shift;
    if (!runs.empty() && runs.back().from + runs.back().count == i &&
        runs.back().to + runs.back().count == shift)
      ++runs.back().count;
    else
      runs.push_back({i, shift, 1});
  }
  ThreadSum sum;
  for (const Run& run : runs) sum += thread_bits(run.from, run.count) * (int64_t(1) << run.to);
  return sum;
}

ThreadSum copies_before(const Layout& layout) {
  ThreadSum sum;
  int bit = 0;
  for (const std::vector<Layout::Bit>* bits : {&layout.lanes, &layout.warps})
    for (const Layout::Bit& next : *bits) {
      if (next.axis < 0) sum += thread_bits(bit, 1);
      ++bit;
    }
  return sum;
}

}  // namespace heddle::codegen
