#include "runtime/interop.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/ir/fail.h"
#include "codegen/ir/ir.h"

namespace heddle {

namespace {

using runtime::Argument;

// What C++ callers get from the compiler, callers by name get from here: the types of a kernel's parameters.
struct Published {
  const runtime::KernelSource* source;
  std::vector<ir::Type> types;
  std::vector<bool> read_only;
  runtime::KernelState* state = nullptr;

  Published() = default;
  Published(const Published&) = delete;
  ~Published() { runtime::destroy(state); }
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Published>, std::less<>> kernels;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

std::shared_ptr<Published> find(const char* name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(std::string_view(name ? name : ""));
  if (found == all.kernels.end())
    fail(ErrorKind::launch, {}, "no kernel is published as '{}'; {} are", name ? name : "",
         all.kernels.size());
  return found->second;
}

constexpr const char* kKinds[] = {"a pointer", "a view", "a scalar"};

Argument::Kind kind_of(const ir::Type& type) {
  return type.kind == ir::Type::Kind::view      ? Argument::Kind::view
         : type.kind == ir::Type::Kind::pointer ? Argument::Kind::pointer
                                                : Argument::Kind::scalar;
}

std::vector<Argument> convert(const Published& kernel, const heddle_argument* arguments, int32_t count) {
  if (count != int32_t(kernel.types.size()) || (count > 0 && !arguments))
    fail(ErrorKind::launch, kernel.source->where, "kernel '{}' takes {} arguments, not {}",
         kernel.source->name, kernel.types.size(), arguments ? count : 0);
  std::vector<Argument> converted;
  for (int32_t i = 0; i < count; ++i) {
    const heddle_argument& from = arguments[i];
    const ir::Type& type = kernel.types[size_t(i)];
    const Argument::Kind kind = kind_of(type);
    if (from.kind != int32_t(kind))
      fail(ErrorKind::launch, kernel.source->where, "argument {} of kernel '{}' is {}: {}", i,
           kernel.source->name, kKinds[int(kind)], ir::to_string(type));
    if (kind == Argument::Kind::view && from.rank != type.rank)
      fail(ErrorKind::launch, kernel.source->where, "argument {} of kernel '{}' is a view of rank {}, not {}",
           i, kernel.source->name, int(type.rank), from.rank);
    Argument& to = converted.emplace_back();
    to.kind = kind;
    to.element = type.element;
    to.read_only = kernel.read_only[size_t(i)];
    to.bits = from.bits;
    if (kind != Argument::Kind::view) continue;
    to.rank = type.rank;
    std::copy_n(from.extents, type.rank, to.extents);
    std::copy_n(from.strides, type.rank, to.strides);
  }
  return converted;
}

void launch(const char* name, const char* device_name, void* native, const char* schedule_text,
            const int64_t* grid, const heddle_argument* arguments, int32_t count) {
  const std::shared_ptr<Published> kernel = find(name);
  const std::vector<Argument> converted = convert(*kernel, arguments, count);
  const Device device = Device::open(device_name, kernel->source->where);
  Stream stream = device.kind() == Device::Kind::cuda ? Stream::wrap(device, native, kernel->source->where)
                                                      : Stream(device, 0, kernel->source->where);
  const bool by_rule = !schedule_text || !*schedule_text;
  const Schedule schedule = by_rule ? Schedule{} : parse_schedule(schedule_text);
  const runtime::Grid size = grid ? runtime::Grid{grid[0], grid[1], grid[2], true} : runtime::Grid{};
  runtime::launch(*kernel->source, kernel->state, by_rule ? nullptr : &schedule, size, stream,
                  converted.data(), count, kernel->source->where);
}

}  // namespace

void publish(const char* name, const runtime::KernelSource& source) {
  if (!name) fail(ErrorKind::launch, source.where, "kernel '{}' is published without a name", source.name);
  const Dims none;
  const runtime::TraceRequest request{
      .dims = &none, .unbound_dim_value = 64, .facts = nullptr, .schedule_where = source.where};
  const std::unique_ptr<ir::Function> trace(source.trace(source, request));
  auto kernel = std::make_shared<Published>();
  kernel->source = &source;
  for (const ir::Parameter& parameter : trace->parameters) {
    kernel->types.push_back(parameter.value->type);
    kernel->read_only.push_back(parameter.read_only);
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.kernels[name] = std::move(kernel);
}

}  // namespace heddle

int heddle_launch(const char* name, const char* device, void* stream, const char* schedule,
                  const int64_t* grid, const heddle_argument* arguments, int32_t count, char* message,
                  size_t size) {
  try {
    heddle::launch(name, device, stream, schedule, grid, arguments, count);
    return 0;
  } catch (const std::exception& error) {
    if (message && size > 0) {
      const size_t length = std::min(std::strlen(error.what()), size - 1);
      std::memcpy(message, error.what(), length);
      message[length] = '\0';
    }
    return 1;
  }
}
