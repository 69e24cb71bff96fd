#include "tests/support/gpu_check.h"

#include <fmt/format.h>

#include "codegen/interpret/interpret.h"
#include "codegen/ir/error.h"
#include "codegen/ir/verify.h"
#include "codegen/machine/lower.h"
#include "codegen/machine/mma.h"
#include "codegen/nvptx/nvptx.h"
#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "tests/support/problem.h"
#include "tests/support/ptx.h"

namespace heddle::test {

namespace {

// The tensor cores' sums of floats are exact in no order that is written down.
bool sums_in_hardware_order(const ir::Function& function) {
  constexpr int kNewest = 120;
  bool found = false;
  ir::walk(function.body, [&](const ir::Op* op) {
    found |= op->code == ir::Opcode::dot && codegen::mma_for(*op, kNewest) &&
             is_any_float(op->operands[0]->type.element);
  });
  return found;
}

}  // namespace

bool has_gpu() {
  return Device::open("auto").kind() == Device::Kind::cuda;
}

std::string gpu_difference(const ir::Function& function, const std::vector<HostArgument>& arguments,
                           const HostCheckOptions& options) {
  if (sums_in_hardware_order(function)) return {};
  Problem problem(function, arguments, options);
  Stream stream(Device::cuda(0));
  const runtime::KernelSource source{
      .name = function.name.c_str(), .where = {}, .body = nullptr, .trace = nullptr};
  runtime::CodeOrigin origin;
  const auto executable = runtime::make_cuda_executable(source, function, {}, stream, origin, {});
  codegen::WorkCount work{.workers = 1};
  std::copy(options.work.begin(), options.work.end(), work.params);
  for (const bool at_end : {false, true}) {
    const Rooms expected = problem.after(at_end, [&](const int64_t* slots) {
      codegen::interpret(function, slots, options.work.data(), /*worker=*/0);
    });
    const Rooms found =
        problem.after_elsewhere(at_end, [&](Rooms& rooms, const Problem::SlotsFor& slots_for) {
          std::map<int, Buffer<i8>> there;
          std::map<int, int64_t> addresses;
          for (auto& [number, room] : rooms) {
            Buffer<i8>& buffer = there[number] = Buffer<i8>(stream.device(), int64_t(room.size()));
            buffer.upload(stream, reinterpret_cast<const i8*>(room.data()));
            addresses[number] = int64_t(buffer.data());
          }
          const std::vector<int64_t> slots = slots_for(addresses);
          executable->run(stream,
                          {.arguments = nullptr,
                           .count = 0,
                           .slots = slots.data(),
                           .slot_count = int(slots.size()),
                           .work = work},
                          {});
          for (auto& [number, room] : rooms)
            there.at(number).download(stream, reinterpret_cast<i8*>(room.data()));
          stream.synchronize();
        });
    if (std::string difference = problem.compare(expected, found, at_end); !difference.empty())
      return fmt::format("GPU, memory at the {} of its room: {}", at_end ? "end" : "start", difference);
  }
  return {};
}

std::string gpu_refusal(const ir::Function& function) {
  const codegen::GpuTarget target{.sm = 90, .shared_bytes = 227 * 1024};
  try {
    const auto program = codegen::lower_to_machine(function, {}, target, {});
    const PtxasResult result = ptxas(codegen::compile_ptx(*program, target.sm).ptx, "sm_90");
    return result.found && !result.accepted ? result.output : "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace heddle::test
