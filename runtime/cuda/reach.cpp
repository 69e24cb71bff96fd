#include "runtime/cuda/reach.h"

#include <atomic>

#include "codegen/ir/fail.h"
#include "runtime/arguments.h"

namespace heddle::runtime::cuda {

namespace {

// The driver deals out device memory in pieces of 2 MiB, each on one device; small allocations share one.
constexpr uint64_t kPiece = uint64_t(1) << 21;
constexpr uint64_t kPage = uint64_t(1) << 12;

std::atomic<uint64_t> frees{0};

// Addresses that a device reaches.
struct Reached {
  uint64_t begin, size;
  int device;
  bool holds(uint64_t address, int ordinal) const { return address - begin < size && device == ordinal; }
};

// A cache of sets of four: device memory has its set by piece, other memory by page. A launch has perhaps
// twenty allocations, of which five rarely meet in one set.
class Table {
 public:
  bool holds(uint64_t address, int device) const {
    return holds(set_of(address / kPiece), address, device) ||
           holds(set_of(address / kPage), address, device);
  }
  void remember_piece(uint64_t address, const Reached& reached) {
    replace(set_of(address / kPiece), reached);
  }
  void remember_page(uint64_t address, const Reached& reached) { replace(set_of(address / kPage), reached); }

  // Empties it if memory was freed since it was filled.
  void refresh(uint64_t frees_now) {
    if (frees_ == frees_now) return;
    *this = {};
    frees_ = frees_now;
  }

 private:
  static constexpr uint64_t kSets = 64, kWays = 4;

  static uint64_t set_of(uint64_t number) { return (number ^ number >> 6) % kSets; }
  bool holds(uint64_t set, uint64_t address, int device) const {
    for (const Reached& way : ways_[set])
      if (way.holds(address, device)) return true;
    return false;
  }
  void replace(uint64_t set, const Reached& reached) { ways_[set][oldest_[set]++ % kWays] = reached; }

  uint64_t frees_ = 0;
  Reached ways_[kSets][kWays] = {};
  uint8_t oldest_[kSets] = {};
};
constinit thread_local Table table;

[[noreturn]] void refuse(const KernelSource& kernel, int position, const std::string& why, Location where) {
  fail(ErrorKind::launch, where, "kernel '{}': argument {} {}", kernel.name, position, why);
}

// Asks the driver. What it can't tell is left to the launch.
void ask(const KernelSource& kernel, const DeviceInfo& device, uint64_t address, int position,
         Location where) {
  const Api& api = driver(where);
  unsigned type = 0;
  const Result known = api.pointer_attribute(&type, kPointerMemoryType, address);
  if (known == kInvalidValue && !device.pageable)
    refuse(
        kernel, position,
        fmt::format("at address {:#x} is memory of the host, or was freed: {} reaches memory that Buffer or "
                    "the driver allocated",
                    address, device.name),
        where);
  if (known != kSuccess) return;
  int ordinal = device.ordinal;
  if (type == kMemoryTypeDevice &&
      api.pointer_attribute(&ordinal, kPointerDeviceOrdinal, address) == kSuccess &&
      ordinal != device.ordinal) {
    unsigned access = kAccessReadWrite;
    if (api.pointer_attribute(&access, kPointerAccessFlags, address) == kSuccess && access == kAccessNone)
      refuse(
          kernel, position,
          fmt::format("is memory of cuda:{}, which the stream's device cuda:{} has no access to: launch on a "
                      "stream of cuda:{}, copy the memory, or enable peer access",
                      ordinal, device.ordinal, ordinal),
          where);
  }
  uint64_t begin = 0, size = 0;
  if (api.pointer_attribute(&begin, kPointerRangeStart, address) != kSuccess ||
      api.pointer_attribute(&size, kPointerRangeSize, address) != kSuccess || address - begin >= size)
    begin = address, size = 1;
  if (type != kMemoryTypeDevice) return table.remember_page(address, {begin, size, device.ordinal});
  const uint64_t first = begin & ~(kPiece - 1), last = (begin + size + kPiece - 1) & ~(kPiece - 1);
  table.remember_piece(address, {first, last - first, device.ordinal});
}

}  // namespace

void check_reach(const KernelSource& kernel, const DeviceInfo& device, const Argument* arguments, int count,
                 Location where) {
  Table& reached = table;
  reached.refresh(frees.load(std::memory_order_relaxed));
  for (int position = 0; position < count; ++position) {
    const Argument& argument = arguments[position];
    if (argument.kind == Argument::Kind::scalar) continue;
    const uint64_t address = argument.bits;
    if (reached.holds(address, device.ordinal) || address == 0 || is_empty(argument)) continue;
    ask(kernel, device, address, position, where);
  }
}

void forget_reach() noexcept {
  frees.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace heddle::runtime::cuda
