#include "tests/kernels/harness.h"

#include <cstdio>

namespace kernels {

using namespace heddle;

std::vector<Device> devices() {
  std::vector<Device> all{Device::interpreter(), Device::cpu()};
  try {
    all.push_back(Device::cuda());
  } catch (const Error&) {
    static const bool said = [] {
      return std::puts("kernels: no GPU here, so CPU and interpreter alone"), true;
    }();
    (void)said;
  }
  return all;
}

std::vector<Schedule> spread(const std::vector<Schedule>& tiles, bool two_axes) {
  std::vector<Schedule> all;
  auto add = [&](Schedule schedule, int workers, int group) {  // 0 workers: data parallel; group 0: row order
    if (workers) schedule.work = persistent{.workers = workers};
    if (two_axes && group) schedule.order = grouped{group};
    all.push_back(schedule);
  };
  for (const Schedule& schedule : tiles) {
    add(schedule, 3, 2);
    if (&schedule != &tiles[0]) continue;
    add(schedule, 0, 0);
    add(schedule, 1, 0);
    add(schedule, 1000, 3);
    if (two_axes) add(schedule, 0, 3);
  }
  return all;
}

std::string text(const Schedule& schedule) {
  char line[512];
  print(schedule, line, sizeof line);
  return line;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents, Layout layout) {
  const size_t rank = extents.size();
  if (rank == 1) return {layout == Layout::transposed ? 2 : layout == Layout::reversed ? -1 : 1};
  // Gaps of a few elements between rows, but for packed.
  const int64_t gap = layout == Layout::packed ? 0 : 5;
  std::vector<int64_t> order(extents), strides(rank);
  if (layout == Layout::transposed) std::swap(order[rank - 1], order[rank - 2]);
  int64_t stride = 1;
  for (size_t axis = rank; axis-- > 0;) {
    strides[axis] = layout == Layout::reversed ? -stride : stride;
    stride *= order[axis];
    if (axis == rank - 1) stride += gap;
  }
  if (layout == Layout::transposed) std::swap(strides[rank - 1], strides[rank - 2]);
  return strides;
}

std::string difference(double value, const Expected& expected) {
  const double wanted = expected.value;
  if (value == wanted || (std::isnan(value) && std::isnan(wanted))) return {};
  if (std::isfinite(wanted) && std::fabs(value - wanted) <= expected.bound) return {};
  char line[160];
  std::snprintf(line, sizeof line, "%.9g, expected %.9g within %.3g", value, wanted, expected.bound);
  return line;
}

float Values::next(bool special) {
  const uint32_t bits = random_();
  if (special && bits % 16 == 0) {
    const float values[] = {NAN, INFINITY, -INFINITY, -0.0f};
    return values[bits / 16 % 4];
  }
  // Sums of four uniform numbers are near enough to normal, and the same with every library.
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += float(random_() >> 8) * 0x1p-24f;
  return (sum - 2.0f) * 1.7f;
}

}  // namespace kernels
