#include "runtime/variant.h"

#include <utility>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "runtime/clock.h"
#include "runtime/report.h"

namespace heddle::runtime {

namespace {

// A variant outlives the names in its caller's schedule, which may be reused for other dims.
Schedule with_own_names(Schedule schedule) {
  for (int i = 0; i < schedule.dims.count && i < Dims::kMax; ++i)
    schedule.dims.bindings[i].name = intern(schedule.dims.bindings[i].name);
  return schedule;
}

// What unbound dims are in a probe: any legal number serves.
constexpr int64_t kProbeDim = 64;

std::unique_ptr<codegen::TracedKernel> trace_kernel(const KernelSource& source, const Variant& variant,
                                                    Location where) {
  static const Dims none;
  const TraceRequest request{.dims = variant.probe ? &none : &variant.schedule->dims,
                             .unbound_dim_value = variant.probe ? kProbeDim : 0,
                             .facts = variant.facts.data(),
                             .schedule_where = where};
  return codegen::TracedKernel::analyse(std::unique_ptr<ir::Function>(source.trace(source, request)),
                                        variant.probe);
}

void lower(const KernelSource& source, Variant& variant, Location where) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<codegen::TracedKernel> traced = trace_kernel(source, variant, where);
  if (!variant.probe)
    variant.program = codegen::lower(*traced, *variant.schedule, target_of(variant.device), where);
  variant.traced = std::move(traced);
  thread_report.report.trace_ms += milliseconds_since(start);
}

CodeOrigin compile(const KernelSource& source, Variant& variant, const Stream& stream, Location where) {
  const Clock::time_point start = Clock::now();
  CodeOrigin origin;
  switch (variant.device.kind()) {
    case Device::Kind::cpu:
      variant.executable = make_host_executable(source, *variant.program, origin);
      break;
    case Device::Kind::interpreter:
      variant.executable = make_interpreter_executable(std::move(variant.program));
      break;
    case Device::Kind::cuda:
      variant.executable =
          make_cuda_executable(source, *variant.program, *variant.schedule, stream, origin, where);
      break;
  }
  variant.program.reset();
  thread_report.made(origin, milliseconds_since(start));
  return origin;
}

// Does one step of making a variant, unless it is done. Threads that want the same one wait for it; if it
// fails, each tries for itself and gets its own Error.
template <class Step>
void once(const KernelSource& source, Variant& variant, std::atomic<bool>& done, Location where, Step step) {
  if (done.load(std::memory_order_acquire)) return;
  if (variant.maker.load() == std::this_thread::get_id())
    fail(ErrorKind::launch, where,
         "kernel '{}' is launched while this very thread makes it, from a log sink perhaps; launch it later",
         source.name);
  std::lock_guard lock(variant.mutex);
  if (done.load()) return;
  variant.maker = std::this_thread::get_id();
  try {
    step();
  } catch (...) {
    variant.maker = std::thread::id();
    throw;
  }
  variant.maker = std::thread::id();
  done.store(true, std::memory_order_release);
}

}  // namespace

codegen::Target target_of(Device device) {
  return device.kind() == Device::Kind::cuda ? codegen::Target::gpu : codegen::Target::cpu;
}

uint64_t Variant::next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

bool Variant::matches(const PackedArguments& arguments, Device wanted_device, const Schedule* wanted) const {
  if (device != wanted_device || probe != (wanted == nullptr) || int(facts.size()) != arguments.count)
    return false;
  for (int i = 0; i < arguments.count; ++i)
    if (facts[i].unit_stride_axis != arguments.facts[i].unit_stride_axis ||
        facts[i].aligned16 != arguments.facts[i].aligned16)
      return false;
  return probe || *schedule == *wanted;
}

void Variant::make_code(const KernelSource& source, const Stream& stream, Location where) {
  CodeOrigin origin;
  once(source, *this, compiled, where, [&] { origin = compile(source, *this, stream, where); });
  if (thread_report.report.compiled_now) log_made(source, device, origin.remarks, where);
}

KernelState::~KernelState() {
  for (Variant* variant = first_.load(); variant;) delete std::exchange(variant, variant->next);
}

Variant* KernelState::find(const PackedArguments& arguments, Device device, const Schedule* schedule) const {
  for (Variant* variant = first_.load(std::memory_order_acquire); variant; variant = variant->next)
    if (variant->matches(arguments, device, schedule)) return variant;
  return nullptr;
}

Variant& KernelState::get(const KernelSource& source, const PackedArguments& arguments, Device device,
                          const Schedule* schedule, Location where) {
  Variant* variant = find(arguments, device, schedule);
  if (!variant) {
    std::lock_guard lock(growing_);
    variant = find(arguments, device, schedule);
    if (!variant) {
      auto fresh = std::make_unique<Variant>();
      fresh->facts.assign(arguments.facts, arguments.facts + arguments.count);
      fresh->device = device;
      fresh->probe = schedule == nullptr;
      if (schedule) fresh->schedule = with_own_names(*schedule);
      fresh->next = first_.load();
      variant = fresh.release();
      first_.store(variant, std::memory_order_release);
    }
  }
  once(source, *variant, variant->lowered, where, [&] { lower(source, *variant, where); });
  return *variant;
}

Variant& KernelState::get_by_rule(const KernelSource& source, const PackedArguments& arguments, Device device,
                                  const codegen::Machine& machine, Location where) {
  const Variant& probe = get(source, arguments, device, nullptr, where);
  const Schedule chosen = codegen::default_schedule(*probe.traced, arguments.view(), machine);
  return get(source, arguments, device, &chosen, where);
}

}  // namespace heddle::runtime
