#include "tests/support/lane_program.h"

#include <fmt/format.h>

#include <cstring>

#include "codegen/host/compile.h"
#include "codegen/interpret/interpret.h"
#include "codegen/ir/parse.h"
#include "codegen/passes/expand_math.h"

namespace heddle::test {

using codegen::host::Cpu;
using ir::Lane;

namespace {

std::string kernel_text(const std::vector<DType>& types, const std::vector<LaneOp>& ops) {
  std::string parameters, body;
  int value = 0;
  for (const DType type : types)
    parameters += fmt::format("{}%{}: view<{}, 1> const unit(0)", value ? ", " : "", value, to_string(type)),
        ++value;
  const int first_result = value;
  for (const LaneOp& op : ops)
    parameters += fmt::format(", %{}: view<{}, 1> unit(0)", value++, to_string(op.result));
  const int zero = value++, extent = value++, step = value++, at = value++;
  const int first_load = value;
  for (size_t i = 0; i < types.size(); ++i)
    body += fmt::format("    %{} = load_view %{}, %{} {{fill = 0}} : tile<{}, d0>\n", value++, i, at,
                        to_string(types[i]));
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string operands;
    for (const int operand : ops[i].operands)
      operands += fmt::format("{} %{}", operands.empty() ? "" : ",", first_load + operand);
    body +=
        fmt::format("    %{} = {}{} : tile<{}, d0>\n", value, ops[i].op, operands, to_string(ops[i].result));
    body += fmt::format("    store_view %{}, %{}, %{}\n", first_result + int(i), value++, at);
  }
  return fmt::format(R"(kernel @lanes({}) dims(d0 = 16) {{
  %{} = constant 0 : i64
  %{} = view_extent %0 {{axis = 0}}
  %{} = constant d0 : i64
  for_loop %{}, %{}, %{} {{cuttable = 0}} {{
  ^(%{}: i64)
{}    yield
  }}
}}
)",
                     parameters, zero, extent, step, zero, extent, step, at, body);
}

// Lays the lanes out in memory, calls run(slots, work), and reads the results.
template <class Run>
LaneLists in_memory(const std::vector<DType>& types, const LaneLists& inputs, const std::vector<LaneOp>& ops,
                    Run&& run) {
  const size_t count = inputs[0].size();
  std::vector<std::vector<char>> memory;
  std::vector<int64_t> slots;
  const auto add_view = [&](DType type) -> char* {
    memory.emplace_back(count * size_t(size_bytes(type)));
    slots.insert(slots.end(), {int64_t(memory.back().data()), int64_t(count), 1});
    return memory.back().data();
  };
  for (size_t i = 0; i < types.size(); ++i) {
    const size_t bytes = size_t(size_bytes(types[i]));
    char* data = add_view(types[i]);
    for (size_t lane = 0; lane < count; ++lane) std::memcpy(data + lane * bytes, &inputs[i][lane], bytes);
  }
  for (const LaneOp& op : ops) add_view(op.result);
  const int64_t work[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  run(slots.data(), work);

  LaneLists results;
  for (size_t i = 0; i < ops.size(); ++i) {
    const size_t bytes = size_t(size_bytes(ops[i].result));
    const char* data = memory[types.size() + i].data();
    std::vector<Lane>& lanes = results.emplace_back(count);
    for (size_t lane = 0; lane < count; ++lane) std::memcpy(&lanes[lane], data + lane * bytes, bytes);
  }
  return results;
}

}  // namespace

LaneLists run_compiled(const std::vector<DType>& types, const LaneLists& inputs,
                       const std::vector<LaneOp>& ops, const Cpu& cpu) {
  const auto function = ir::parse(kernel_text(types, ops));
  codegen::expand_math(*function);
  const codegen::HostObject object = codegen::host::compile_for(*function, cpu).object;
  const auto program = codegen::HostProgram::load(object);
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> scratch(size_t(object.scratch_bytes) / sizeof(Line) + 1);
  return in_memory(types, inputs, ops, [&](const int64_t* slots, const int64_t* work) {
    program->entry()(slots, work, 0, scratch[0].bytes);
  });
}

LaneLists run_interpreted(const std::vector<DType>& types, const LaneLists& inputs,
                          const std::vector<LaneOp>& ops) {
  const auto function = ir::parse(kernel_text(types, ops));
  return in_memory(types, inputs, ops, [&](const int64_t* slots, const int64_t* work) {
    codegen::interpret(*function, slots, work, 0);
  });
}

std::vector<const Cpu*> best_and_plainest_cpu() {
  std::vector<const Cpu*> result{&codegen::host::this_cpu()};
#if defined(__x86_64__)
  static const Cpu plain = codegen::host::named_cpu("x86-64");
  result.push_back(&plain);
#endif
  return result;
}

}  // namespace heddle::test
