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

// Addresses that a device reaches, [begin, end).
struct Reached {
  uint64_t begin, end;
  int device;
  bool holds(uint64_t address, int ordinal) const {
    return address >= begin && address < end && device == ordinal;
  }
};

// A cache, direct-mapped twice: device memory by piece, other memory by page.
struct Table {
  static constexpr uint64_t kSlots = 64;
  uint64_t frees;  // when it was filled
  Reached slots[kSlots];

  Reached& by_piece(uint64_t address) { return slots[address / kPiece % kSlots]; }
  Reached& by_page(uint64_t address) { return slots[address / kPage % kSlots]; }
};
thread_local Table table;

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
  if (type == kMemoryTypeDevice)
    table.by_piece(address) = {begin & ~(kPiece - 1), (begin + size + kPiece - 1) & ~(kPiece - 1),
                               device.ordinal};
  else
    table.by_page(address) = {begin, begin + size, device.ordinal};
}

}  // namespace

void check_reach(const KernelSource& kernel, const DeviceInfo& device, const Argument* arguments, int count,
                 Location where) {
  Table& reached = table;
  if (const uint64_t now = frees.load(std::memory_order_relaxed); reached.frees != now)
    reached = {.frees = now, .slots = {}};
  for (int position = 0; position < count; ++position) {
    const Argument& argument = arguments[position];
    if (argument.kind == Argument::Kind::scalar) continue;
    const uint64_t address = argument.bits;
    if (reached.by_piece(address).holds(address, device.ordinal) ||
        reached.by_page(address).holds(address, device.ordinal) || address == 0 || is_empty(argument))
      continue;
    ask(kernel, device, address, position, where);
  }
}

void forget_reach() noexcept {
  frees.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace heddle::runtime::cuda
