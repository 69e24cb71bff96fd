#include "tests/support/problem.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/ir/evaluate.h"
#include "codegen/ir/fail.h"

namespace heddle::test {

Guarded::Guarded(size_t bytes) : bytes_(bytes) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  room_ = std::max<size_t>(1, (bytes + page - 1) / page) * page;
  mapped_ = room_ + 2 * page;
  base_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (base_ == MAP_FAILED || mprotect(base_ + page, room_, PROT_READ | PROT_WRITE))
    fail(ErrorKind::internal, {}, "no guarded memory of {} bytes", bytes);
  room_base_ = base_ + page;
}
Guarded::~Guarded() {
  munmap(base_, mapped_);
}

char* Guarded::place(const std::vector<char>& content, bool at_end) {
  std::memset(room_base_, 0xa5, room_);
  char* data = at_end ? room_base_ + room_ - bytes_ : room_base_;
  if (!content.empty()) std::memcpy(data, content.data(), content.size());
  return data;
}

namespace {

void put(std::vector<char>& content, int64_t element, DType type, uint64_t bits) {
  std::memcpy(content.data() + element * size_bytes(type), &bits, size_t(size_bytes(type)));
}

double random_number(std::mt19937_64& random, bool special) {
  static const double kSpecial[] = {0.0,          -0.0,  1.0,     -1.0, HUGE_VAL, -HUGE_VAL,
                                    std::nan(""), 1e-40, -1e-310, 6e-8, 65504,    3.4e38,
                                    1e300,        0.5,   2.5,     -1.5, 448,      57344};
  if (special && random() % 6 == 0) return kSpecial[random() % std::size(kSpecial)];
  const double magnitude = std::ldexp(double(random() % 4096 + 1), int(random() % 16) - 14);
  return random() % 2 ? magnitude : -magnitude;
}

uint64_t random_bits(std::mt19937_64& random, DType type, bool special) {
  if (is_any_float(type)) {
    const double number = random_number(random, special);
    return uint64_t(ir::lane_of_payload(type, std::bit_cast<int64_t>(number)));
  }
  if (type == DType::i1) return random() % 3 == 0 ? 0 : special ? random() % 255 + 1 : 1;
  if (special && random() % 6 == 0) {
    const uint64_t edges[] = {0, 1, ~uint64_t(0), uint64_t(1) << (bit_width(type) - 1),
                              (uint64_t(1) << (bit_width(type) - 1)) - 1};
    return edges[random() % std::size(edges)];
  }
  return random() >> (random() % 60);
}

bool is_nan(DType type, const char* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size_t(size_bytes(type)));
  switch (type) {
    case DType::f64: return std::isnan(std::bit_cast<double>(bits));
    case DType::f32: return std::isnan(std::bit_cast<float>(uint32_t(bits)));
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: return std::isnan(decode_float(uint32_t(bits), float_format(type)));
    default: return false;
  }
}

}  // namespace

Problem::Problem(const ir::Function& function, const std::vector<HostArgument>& arguments,
                 const HostCheckOptions& options)
    : function_(function), arguments_(arguments), options_(options) {
  if (arguments.size() != function.parameters.size())
    fail(ErrorKind::internal, {}, "{} arguments for {} parameters", arguments.size(),
         function.parameters.size());
  for (size_t i = 0; i < arguments_.size(); ++i) measure(i);
  std::mt19937_64 random(options.seed);
  for (auto& [number, memory] : memories_) {
    memory.content.resize(size_t(memory.elements * size_bytes(memory.type)));
    for (int64_t element = 0; element < memory.elements; ++element) {
      put(memory.content, element, memory.type, initial_bits(memory, size_t(element), random));
    }
    memory.place = std::make_unique<Guarded>(memory.content.size());
  }
}

std::vector<int64_t> Problem::slots(const std::map<int, int64_t>& bases) const {
  std::vector<int64_t> slots;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const HostArgument& argument = arguments_[i];
    const ir::Type& type = function_.parameters[i].value->type;
    if (type.kind == ir::Type::Kind::data) {
      slots.push_back(argument.scalar);
      continue;
    }
    slots.push_back(bases.at(numbers_[i]) + starts_[i] * size_bytes(type.element));
    if (type.kind != ir::Type::Kind::view) continue;
    slots.insert(slots.end(), argument.extents.begin(), argument.extents.end());
    slots.insert(slots.end(), argument.strides.begin(), argument.strides.end());
  }
  return slots;
}

Rooms Problem::after(bool at_end, const std::function<void(const int64_t*)>& run) {
  std::map<int, int64_t> bases;
  for (auto& [number, memory] : memories_)
    bases[number] = int64_t(memory.place->place(memory.content, at_end));
  run(slots(bases).data());
  Rooms rooms;
  for (auto& [number, memory] : memories_) rooms[number] = memory.place->room();
  return rooms;
}

Rooms Problem::after_elsewhere(bool at_end, const std::function<void(Rooms&, const SlotsFor&)>& run) {
  Rooms rooms;
  for (auto& [number, memory] : memories_) {
    memory.place->place(memory.content, at_end);
    rooms[number] = memory.place->room();
  }
  run(rooms, [&](std::map<int, int64_t> bases) {
    for (auto& [number, base] : bases) base += int64_t(memories_.at(number).place->start(at_end));
    return slots(bases);
  });
  return rooms;
}

std::string Problem::compare(const Rooms& expected, const Rooms& found, bool at_end) const {
  for (const auto& [number, memory] : memories_) {
    const std::vector<char>&want = expected.at(number), &have = found.at(number);
    const size_t start = memory.place->start(at_end);
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i] == have[i]) continue;
      if (i < start || i >= start + memory.content.size())
        return fmt::format("memory {}: byte {} outside the {} of the argument was written", number,
                           int64_t(i) - int64_t(start), memory.content.size());
      const size_t bytes = size_t(size_bytes(memory.type)), element = (i - start) / bytes;
      const char *wanted = &want[start + element * bytes], *had = &have[start + element * bytes];
      if (is_nan(memory.type, wanted) && is_nan(memory.type, had)) {
        i = start + (element + 1) * bytes - 1;
        continue;
      }
      uint64_t wanted_bits = 0, had_bits = 0;
      std::memcpy(&wanted_bits, wanted, bytes);
      std::memcpy(&had_bits, had, bytes);
      return fmt::format("memory {} ({}): element {} of {} is {:#x}, should be {:#x}", number,
                         to_string(memory.type), element, memory.elements, had_bits, wanted_bits);
    }
  }
  return {};
}

uint64_t Problem::initial_bits(const Memory& memory, size_t element, std::mt19937_64& random) const {
  if (!memory.bits.empty()) return memory.bits[element % memory.bits.size()];
  if (memory.values.empty()) return random_bits(random, memory.type, options_.special_values);
  const double value = memory.values[element % memory.values.size()];
  return uint64_t(ir::lane_of_payload(memory.type, ir::constant_payload(memory.type, value)));
}

void Problem::measure(size_t i) {
  HostArgument& argument = arguments_[i];
  const ir::Type& type = function_.parameters[i].value->type;
  numbers_.push_back(argument.memory >= 0 ? argument.memory : 1000 + int(i));
  starts_.push_back(argument.offset);
  if (type.kind == ir::Type::Kind::data) return;
  Memory& memory = memories_[numbers_.back()];
  memory.type = type.element;
  if (!argument.values.empty()) memory.values = argument.values;
  if (!argument.bits.empty()) memory.bits = argument.bits;
  int64_t lowest = 0, highest = 0;
  if (type.kind == ir::Type::Kind::view) {
    if (argument.strides.empty()) {
      argument.strides.assign(argument.extents.size(), 1);
      for (size_t axis = argument.extents.size() - 1; axis-- > 0;)
        argument.strides[axis] = argument.strides[axis + 1] * argument.extents[axis + 1];
    }
    for (size_t axis = 0; axis < argument.extents.size(); ++axis) {
      const int64_t reach = (argument.extents[axis] - 1) * argument.strides[axis];
      (reach < 0 ? lowest : highest) += reach;
    }
    if (std::count(argument.extents.begin(), argument.extents.end(), 0)) lowest = 0, highest = -1;
  } else {
    highest = argument.extents.at(0) - 1;
  }
  starts_.back() -= lowest;
  memory.elements = std::max(memory.elements, starts_.back() + highest + 1);
}

}  // namespace heddle::test
