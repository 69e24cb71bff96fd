// Launch: find the variant for these arguments and schedule, make it if it is new, run its workers.
#include "runtime/launch.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/compile.h"
#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "runtime/arguments.h"
#include "runtime/clock.h"
#include "runtime/environment.h"
#include "runtime/executable.h"
#include "runtime/log.h"

namespace heddle::runtime {

namespace {

// Nothing to destroy: static destructors launch after the main thread's own objects are gone.
struct ThreadReport {
  LaunchReport report;
  uint64_t variant = 0;  // whose schedule the report holds, by number: a repeated launch copies none
};
constinit thread_local ThreadReport thread_report;
static_assert(std::is_trivially_destructible_v<ThreadReport>);

// A variant outlives the names in its caller's schedule, which may be reused for other dims.
Schedule with_own_names(Schedule schedule) {
  for (int i = 0; i < schedule.dims.count && i < Dims::kMax; ++i)
    schedule.dims.bindings[i].name = intern(schedule.dims.bindings[i].name);
  return schedule;
}

// What unbound dims are in a probe: any legal number serves.
constexpr int64_t kProbeDim = 64;

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// A kernel traced and compiled for one set of facts, one schedule, one kind of device. Made once; then only
// read.
struct Variant {
  const uint64_t number = next_number();  // from 1; never used again
  std::vector<ArgumentFacts> facts;
  Device device = Device::cpu();
  bool probe = false;                // traced with any dims, to be looked at by the default rule; never run
  std::optional<Schedule> schedule;  // none for a probe

  std::mutex mutex;                      // held while the variant is made, ...
  std::atomic<std::thread::id> maker{};  // ... by this thread
  // Two steps: what a launch of no work needs, and of a launch that is refused; then code. A probe has the
  // first alone.
  std::atomic<bool> lowered{false}, compiled{false};
  std::unique_ptr<codegen::TracedKernel> traced;
  std::unique_ptr<ir::Function> program;  // scheduled; until there is code
  std::unique_ptr<Executable> executable;

  Variant* next = nullptr;

  bool matches(const PackedArguments& arguments, Device wanted_device, const Schedule* wanted) const {
    if (device != wanted_device || probe != (wanted == nullptr) || int(facts.size()) != arguments.count)
      return false;
    for (int i = 0; i < arguments.count; ++i)
      if (facts[i].unit_stride_axis != arguments.facts[i].unit_stride_axis ||
          facts[i].aligned16 != arguments.facts[i].aligned16)
        return false;
    return probe || *schedule == *wanted;
  }
};

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

codegen::Target target_of(Device device) {
  return device.kind() == Device::Kind::cuda ? codegen::Target::gpu : codegen::Target::cpu;
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
  LaunchReport& report = thread_report.report;
  report.cache_hit = origin.cache_hit;
  report.cache_path = origin.cache_path;
  report.codegen_ms = origin.codegen_ms;
  report.assemble_ms = origin.assemble_ms;
  report.load_ms = origin.load_ms;
  report.gpu = origin.gpu;
  report.compile_ms = milliseconds_since(start);
  report.compiled_now = true;
  return origin;
}

// After a kernel was made, with no lock held: a log sink may launch.
void tell(const KernelSource& source, Device device, const std::vector<std::string>& remarks,
          Location where) {
  if (log_level() < LogLevel::info) return;
  const LaunchReport report = last_launch();
  if (device.kind() == Device::Kind::interpreter) {
    log(LogLevel::info, "kernel '{}' for the interpreter: traced in {:.1f} ms", source.name, report.trace_ms);
    return;
  }
  log(LogLevel::info, "kernel '{}' for {}: traced in {:.1f} ms; cache {}, ready in {:.1f} ms, {}",
      source.name, device.name(where), report.trace_ms, report.cache_hit ? "hit" : "miss", report.compile_ms,
      *report.cache_path ? report.cache_path : "in no file");
  if (device.kind() == Device::Kind::cpu) {
    log(LogLevel::debug, "kernel '{}': {:.1f} ms to object code, {:.1f} ms to load", source.name,
        report.codegen_ms, report.load_ms);
    return;
  }
  log(LogLevel::debug, "kernel '{}': {:.1f} ms to PTX, {:.1f} ms to assemble, {:.1f} ms to load", source.name,
      report.codegen_ms, report.assemble_ms, report.load_ms);
  log(LogLevel::debug, "kernel '{}': {}", source.name, describe(report.gpu));
  if (report.gpu.spill_store_bytes > 0 || report.gpu.spill_load_bytes > 0)
    log(LogLevel::info,
        "kernel '{}' spills: {} registers are not enough, so its code moves {} bytes to local memory and {} "
        "back; "
        "smaller tiles, or more warps, need fewer",
        source.name, report.gpu.registers, report.gpu.spill_store_bytes, report.gpu.spill_load_bytes);
  for (const std::string& remark : remarks)
    log(LogLevel::info, "kernel '{}': {} remarks: {}", source.name, report.gpu.assembler, remark);
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

// Variants form a list that only grows, so that readers need no lock.
struct KernelState {
  std::atomic<Variant*> first{nullptr};
  std::mutex growing;

  ~KernelState() {
    for (Variant* variant = first.load(); variant;) delete std::exchange(variant, variant->next);
  }

  Variant* find(const PackedArguments& arguments, Device device, const Schedule* schedule) const {
    for (Variant* variant = first.load(std::memory_order_acquire); variant; variant = variant->next)
      if (variant->matches(arguments, device, schedule)) return variant;
    return nullptr;
  }

  // The variant, traced and lowered if it is new. `schedule` null asks for the probe.
  Variant& get(const KernelSource& source, const PackedArguments& arguments, Device device,
               const Schedule* schedule, Location where) {
    Variant* variant = find(arguments, device, schedule);
    if (!variant) {
      std::lock_guard lock(growing);
      variant = find(arguments, device, schedule);
      if (!variant) {
        auto fresh = std::make_unique<Variant>();
        fresh->facts.assign(arguments.facts, arguments.facts + arguments.count);
        fresh->device = device;
        fresh->probe = schedule == nullptr;
        if (schedule) fresh->schedule = with_own_names(*schedule);
        fresh->next = first.load();
        variant = fresh.release();
        first.store(variant, std::memory_order_release);
      }
    }
    once(source, *variant, variant->lowered, where, [&] { lower(source, *variant, where); });
    return *variant;
  }

  Variant& get_by_rule(const KernelSource& source, const PackedArguments& arguments, Device device,
                       const codegen::Machine& machine, Location where) {
    const Variant& probe = get(source, arguments, device, nullptr, where);
    const Schedule chosen = codegen::default_schedule(*probe.traced, arguments.view(), machine);
    return get(source, arguments, device, &chosen, where);
  }
};

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

// Apart from launch(), which a repeated launch is the shorter for.
[[gnu::noinline]] void clear(LaunchReport& report) {
  report = {};
}
[[gnu::noinline]] void make(const KernelSource& source, Variant& variant, const Stream& stream,
                            Location where) {
  CodeOrigin origin;
  once(source, variant, variant.compiled, where, [&] { origin = compile(source, variant, stream, where); });
  if (thread_report.report.compiled_now) tell(source, variant.device, origin.remarks, where);
}

}  // namespace

void launch(const KernelSource& source, KernelState*& state, const Schedule* schedule, Grid grid,
            Stream& stream, const Argument* arguments, int count, Location where, Purpose purpose) {
  ThreadReport& mine = thread_report;
  LaunchReport& report = mine.report;
  if (report.compiled_now || report.trace_ms != 0) clear(report);
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
  if (mine.variant != variant.number) {
    report.schedule = *variant.schedule;
    mine.variant = variant.number;
  }

  codegen::check_covered(*variant.traced, *variant.schedule, packed.view(), where);
  const int64_t axes[3] = {grid.x, grid.y, grid.z};
  const codegen::WorkCount work =
      codegen::count_work(*variant.traced, *variant.schedule, packed.view(), axes, grid.set, machine, where);
  if (purpose == Purpose::run) {
    if (work.workers == 0) return;
    check_memory(source, arguments, count, where);
  }
  if (!variant.compiled.load(std::memory_order_acquire)) make(source, variant, stream, where);
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

const char* describe(const GpuCode& code) {
  if (!*code.assembler) return "";
  const bool told = code.spill_store_bytes >= 0 && code.spill_load_bytes >= 0;
  const std::string spilled =
      told ? fmt::format("{} bytes spilled", code.spill_store_bytes + code.spill_load_bytes)
           : fmt::format("{} bytes of local memory a thread", code.stack_bytes);
  return intern(fmt::format("{} registers, {}, {:.1f} KiB shared, by {}", code.registers, spilled,
                            double(code.shared_bytes) / 1024, code.assembler));
}

LaunchReport last_launch() {
  return thread_report.report;
}

}  // namespace heddle::runtime
