// Launch: find the variant for these arguments and schedule, make it if it is new, run its workers.
#include "runtime/launch.h"

#include <atomic>
#include <memory>

#include "codegen/compile.h"
#include "codegen/ir/fail.h"
#include "runtime/arguments.h"
#include "runtime/environment.h"
#include "runtime/executable.h"
#include "runtime/report.h"
#include "runtime/variant.h"

namespace heddle::runtime {

namespace {

KernelState& state_of(KernelState*& slot) {
  std::atomic_ref<KernelState*> shared(slot);
  KernelState* state = shared.load(std::memory_order_acquire);
  if (state) return *state;
  check_environment();
  auto fresh = std::make_unique<KernelState>();
  if (shared.compare_exchange_strong(state, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *state;
}

void check_grid(const KernelSource& source, Grid grid, Location where) {
  if (grid.x < 0 || grid.y < 0 || grid.z < 0)
    fail(ErrorKind::launch, where, "kernel '{}': the grid ({}, {}, {}) has a negative axis", source.name,
         grid.x, grid.y, grid.z);
}

}  // namespace

void launch(const KernelSource& source, KernelState*& state, const Schedule* schedule, Grid grid,
            Stream& stream, const Argument* arguments, int count, Location where, Purpose purpose) {
  ThreadReport& report = thread_report;
  report.begin();
  PackedArguments packed;
  check_grid(source, grid, where);
  pack(source, arguments, count, packed, where);
  const codegen::Target target = target_of(stream.device());
  if (target == codegen::Target::gpu) note_alignment(arguments, count, packed);
  KernelState& variants = state_of(state);
  const codegen::Machine machine{
      .target = target,
      .concurrency = target == codegen::Target::gpu ? stream.device().concurrency(where) : stream.threads()};

  Variant& variant = schedule ? variants.get(source, packed, stream.device(), schedule, where)
                              : variants.get_by_rule(source, packed, stream.device(), machine, where);
  report.set_schedule(variant.number, *variant.schedule);

  codegen::check_covered(*variant.traced, *variant.schedule, packed.view(), where);
  const int64_t axes[3] = {grid.x, grid.y, grid.z};
  const codegen::WorkCount work =
      codegen::count_work(*variant.traced, *variant.schedule, packed.view(), axes, grid.set, machine, where);
  if (purpose == Purpose::run) {
    if (work.workers == 0) return;
    check_memory(source, arguments, count, where);
  }
  variant.ensure_code(source, stream, where);
  if (purpose == Purpose::prepare) return;
  variant.executable->run(stream,
                          {.arguments = arguments,
                           .count = count,
                           .slots = packed.slots,
                           .slot_count = packed.slot_count,
                           .work = work},
                          where);
}

void destroy(KernelState* state) noexcept {
  delete state;
}

}  // namespace heddle::runtime
