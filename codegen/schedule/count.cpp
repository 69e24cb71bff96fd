// count_work: how many workers a launch has, and its WorkParams.
#include <algorithm>
#include <array>

#include "codegen/ir/fail.h"
#include "codegen/schedule/index.h"
#include "codegen/schedule/lower.h"
#include "codegen/schedule/summary.h"

namespace heddle::codegen {

namespace {

// The product of counts, of which a later one may be 0 and make up for what came before.
class Product {
 public:
  void multiply(int64_t count) {
    zero_ |= count == 0;
    overflow_ |= __builtin_mul_overflow(product_, count, &product_);
  }
  int64_t get(const ir::Function& function, Location where) const {
    if (zero_) return 0;
    if (overflow_)
      fail(ErrorKind::launch, where, "kernel '{}': the launch has more than 2^63 tiles or programs",
           function.name);
    return product_;
  }

 private:
  int64_t product_ = 1;
  bool zero_ = false, overflow_ = false;
};

// Tiles along each axis of the work space; 1 beyond its axes.
using TileCounts = std::array<int64_t, ir::kMaxRank>;
TileCounts count_tiles(const ir::Function& function, const ir::Op& space, ArgumentSlots arguments,
                       Location where) {
  TileCounts counts;
  counts.fill(1);
  for (size_t axis = 0; axis < space.operands.size(); ++axis) {
    const std::optional<int64_t> extent = evaluate_index(function, space.operands[axis], arguments);
    if (!extent)
      fail(ErrorKind::trace, space.where,
           "the extent of axis {} of tile_id's work space must follow from view extents and scalar "
           "arguments, so that the "
           "launch can count the tiles",
           axis);
    if (*extent < 0)
      fail(ErrorKind::launch, where, "kernel '{}': its work space has the negative extent {} on axis {}",
           function.name, *extent, axis);
    const int64_t size = space.attribute(int(axis));
    counts[axis] = *extent / size + (*extent % size != 0);
  }
  return counts;
}

}  // namespace

WorkCount count_work(const TracedKernel& kernel, const Schedule& schedule, ArgumentSlots arguments,
                     const int64_t grid[3], bool grid_set, const Machine& machine, Location where) {
  const ir::Function& function = kernel.function();
  const ir::Op* space = kernel.summary().work_space;
  if (space && grid_set)
    fail(ErrorKind::launch, where,
         "kernel '{}' takes its work from tile_id, so its number of tiles follows from the arguments; leave "
         ".grid() out",
         function.name);
  if (!space && !grid_set && kernel.summary().program_id)
    fail(ErrorKind::launch, where,
         "kernel '{}' asks program_id: say how many programs to launch with .grid(x, y, z)", function.name);

  WorkCount work;
  if (space) {
    const TileCounts tiles = count_tiles(function, *space, arguments, where);
    Product all;
    for (const int64_t count : tiles) all.multiply(count);
    work.workers = all.get(function, where);
    // A group larger than the axis it walks is all of that axis; the kernel multiplies by it, and no product
    // of counts overflows.
    if (schedule.order.kind == Order::Kind::grouped)
      work.params[kGroup] = std::min(schedule.order.size, tiles[space->operands.size() - 2]);
    if (schedule.work.kind == Work::Kind::persistent)
      work.workers =
          std::min(work.workers, schedule.work.workers ? schedule.work.workers : machine.concurrency);
  } else {
    Product programs;
    for (int axis = 0; axis < 3; ++axis) programs.multiply(grid[axis]);
    work.workers = programs.get(function, where);
  }
  work.params[kWorkers] = work.workers;
  std::copy(grid, grid + 3, work.params + kGridX);
  return work;
}

}  // namespace heddle::codegen
