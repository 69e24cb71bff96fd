// default_schedule: what a kernel gets when its caller names no schedule. A pure function that can be read in
// five minutes; every choice says its reason.
//
// Dims are sorted by what the kernel does with them; numbers come from the extents they tile, in few steps,
// so that twenty batch sizes do not make twenty kernels.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/ir/fail.h"
#include "codegen/schedule/index.h"
#include "codegen/schedule/summary.h"

namespace heddle::codegen {

namespace {

using ir::Op;

// Tile of a dot on the CPU: operand panels and accumulator of 128 x 128 x 256 f32 take 320 KiB, which a
// second-level cache of 512 KiB holds; fewer steps of K load and store the accumulator more often
// (docs/performance.md).
struct DotTile {
  int64_t m, n, k;
};
constexpr DotTile kCpuDot{128, 128, 256};
// On a GPU: operands of the tensor cores in a ring of stages; parts of 64 x 64 for each of four warps. Types
// that are multiplied by chains of fma take smaller ones, to leave registers for addresses.
constexpr DotTile kGpuDot{128, 128, 32}, kGpuDotI8{128, 128, 64}, kGpuDotFma{64, 64, 16},
    kGpuDotF64{64, 32, 16};
// On a CPU, from here on there are tiles enough for every worker at twice the rows and columns, and the
// operands, which no cache holds any more, are packed half as often.
constexpr int64_t kDotLarge = 2048;
// Where the problem has few rows or columns, most of a 128-wide tile would be padding.
constexpr int64_t kDotSmall = 32;
// An elementwise tile: long enough to amortise a worker's start, short enough that temporaries stay in the
// first-level cache.
constexpr int64_t kBlockElements = 4096, kBlockRows = 8;

// The smallest of 16, 20, 24, 28, 32, 40, 48 ... that holds `extent`: at most a quarter is padding.
int64_t cover(int64_t extent) {
  if (extent <= 16) return 16;
  const int64_t step = int64_t(std::bit_floor(uint64_t(extent - 1))) / 4;
  return (extent + step - 1) / step * step;
}

DotTile dot_tile(const Op& dot, Target target) {
  if (target == Target::cpu) return kCpuDot;
  if (dot.results[0]->type.element == DType::f64) return kGpuDotF64;
  const DType operand = dot.operands[0]->type.element;
  if (operand == DType::i8) return kGpuDotI8;
  return operand == DType::f16 || operand == DType::bf16 ? kGpuDot : kGpuDotFma;
}

class Rule {
 public:
  Rule(const TracedKernel& kernel, ArgumentSlots arguments, const Machine& machine, std::string* reasons)
      : function_(kernel.function()),
        summary_(kernel.summary()),
        arguments_(arguments),
        machine_(machine),
        reasons_(reasons) {}

  Schedule choose() {
    for (const DimSummary& dim : summary_.dims) bind(dim);
    if (machine_.target == Target::cpu)
      say("work=data_parallel: on a CPU a tile's worker costs less than a persistent worker's bookkeeping "
          "saves");
    else
      say("work=data_parallel: one CTA a tile; the hardware deals them out as multiprocessors fall free");
    return schedule_;
  }

 private:
  void bind(const DimSummary& dim) {
    const DimRole& role = dim.role;
    switch (role.kind) {
      case DimRole::dot_m: return bind_dot(dim, dot_tile(*role.where, machine_.target).m, "rows of a dot");
      case DimRole::dot_n: return bind_dot(dim, dot_tile(*role.where, machine_.target).n, "columns of a dot");
      case DimRole::dot_k:
        return set(dim, dot_tile(*role.where, machine_.target).k, "the length of a dot's step");
      case DimRole::cover: return bind_cover(dim);
      case DimRole::block_outer: return set(dim, kBlockRows, "rows of an elementwise tile");
      case DimRole::block_inner: return bind_block(dim);
      case DimRole::unused: return set(dim, kDotSmall, "it tiles nothing");
    }
  }

  std::optional<int64_t> walked_extent(const DimSummary& dim) const {
    for (const ir::Value* extent : dim.walked)
      if (const std::optional<int64_t> known = evaluate_index(function_, extent, arguments_)) return known;
    return std::nullopt;
  }

  void bind_dot(const DimSummary& dim, int64_t usual, const char* what) {
    const std::optional<int64_t> extent = walked_extent(dim);
    if (extent && *extent <= kDotSmall)
      set(dim, kDotSmall, "{}, and there are only {}", what, *extent);
    else if (machine_.target == Target::cpu && extent && *extent >= kDotLarge)
      set(dim, 2 * usual, "{}, of which there are {}", what, *extent);
    else
      set(dim, usual, "{}", what);
  }

  void bind_block(const DimSummary& dim) {
    if (summary_.work_space && summary_.work_space->operands.size() == 1)
      set(dim, kBlockElements, "an elementwise tile");
    else
      set(dim, kBlockElements / kBlockRows, "columns of an elementwise tile");
  }

  void bind_cover(const DimSummary& dim) {
    const LongestAxis longest = *longest_covered(dim, arguments_);
    set(dim, cover(longest.extent), "one tile covers axis {} of argument {}, {} long", longest.axis.axis,
        longest.axis.view->index, longest.extent);
  }

  // Formats the reason only where somebody asked for it: this runs at every launch.
  template <class... Args>
  void set(const DimSummary& dim, int64_t value, fmt::format_string<Args...> why, Args&&... args) {
    schedule_.dims.add({.name = dim.name, .value = value});
    if (reasons_)
      say(fmt::format("{}={}: ", dim.name, value) + fmt::format(why, std::forward<Args>(args)...));
  }

  void say(std::string_view line) {
    if (reasons_) *reasons_ += fmt::format("{}\n", line);
  }

  const ir::Function& function_;
  const KernelSummary& summary_;
  ArgumentSlots arguments_;
  const Machine& machine_;
  std::string* reasons_;
  Schedule schedule_;
};

}  // namespace

Schedule default_schedule(const TracedKernel& probe, ArgumentSlots arguments, const Machine& machine,
                          std::string* reasons) {
  const ir::Function& function = probe.function();
  const KernelSummary& summary = probe.summary();
  if (!summary.work_space && summary.program_id && !function.dims.empty())
    fail(ErrorKind::schedule, summary.program_id->where,
         "kernel '{}' asks program_id, so its grid depends on its dims: bind them, as in .with({{.dims = "
         "{{{} = 1024}}}})",
         function.name, function.dims[0].name);
  return Rule(probe, arguments, machine, reasons).choose();
}

}  // namespace heddle::codegen
