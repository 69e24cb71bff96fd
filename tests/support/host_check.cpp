#include "tests/support/host_check.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "codegen/host/compile.h"
#include "codegen/interpret/interpret.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "tests/support/problem.h"

namespace heddle::test {

namespace {

using codegen::host::Cpu;

const std::vector<std::pair<std::string, const Cpu*>>& processors() {
  static const auto list = [] {
    std::vector<std::pair<std::string, const Cpu*>> result{{"this CPU", &codegen::host::this_cpu()}};
#if defined(__x86_64__)
    static const Cpu plain = codegen::host::named_cpu("x86-64");
    static const Cpu second = codegen::host::named_cpu("x86-64-v2");
    result.push_back({"x86-64", &plain});
    result.push_back({"x86-64-v2", &second});
    if (codegen::host::this_cpu().vector_bytes >= 64) {
      static const Cpu third = codegen::host::named_cpu("x86-64-v3");
      result.push_back({"x86-64-v3", &third});
    }
#endif
    return result;
  }();
  return list;
}

// A function's code for one processor.
struct Compiled {
  int64_t scratch_bytes = 0;
  std::unique_ptr<codegen::HostProgram> program;
};

// Compiled once: tests try one function on many arguments. The reference holds until the next call.
const Compiled& compiled(const ir::Function& function, size_t processor) {
  static std::map<std::pair<std::string, size_t>, Compiled> programs;
  if (programs.size() > 100) programs.clear();
  Compiled& result = programs[{ir::print(function), processor}];
  if (!result.program) {
    const codegen::HostObject object =
        codegen::host::compile_for(function, *processors()[processor].second).object;
    result = {object.scratch_bytes, codegen::HostProgram::load(object)};
  }
  return result;
}

}  // namespace

std::string host_difference(const ir::Function& function, const std::vector<HostArgument>& arguments,
                            const HostCheckOptions& options) {
  ir::verify(function, ir::Level::expanded);
  Problem problem(function, arguments, options);
  Rooms expected[2];
  for (const bool at_end : {false, true})
    expected[at_end] = problem.after(at_end, [&](const int64_t* slots) {
      codegen::interpret(function, slots, options.work.data(), options.worker);
    });
  for (size_t i = 0; i < processors().size(); ++i) {
    if (options.processor >= 0 && size_t(options.processor) % processors().size() != i) continue;
    const std::string& name = processors()[i].first;
    if (name == "x86-64-v2" && !options.second) continue;
    const auto& [scratch_bytes, program] = compiled(function, i);
    Guarded scratch{size_t(scratch_bytes)};
    // Whatever scratch holds at the start means nothing: not zeros, and signalling NaNs as floats.
    const std::vector<char> noise(size_t(scratch_bytes), char(0xff));
    for (const bool at_end : {false, true}) {
      char* memory = scratch.place(noise, true);
      const auto found = problem.after(at_end, [&](const int64_t* slots) {
        program->entry()(slots, options.work.data(), options.worker, memory);
      });
      if (std::string difference = problem.compare(expected[at_end], found, at_end); !difference.empty())
        return fmt::format("{}, memory at the {} of its page: {}", name, at_end ? "end" : "start",
                           difference);
    }
  }
  return {};
}

std::string interpreted_difference(const ir::Function& expected, const ir::Function& found,
                                   const std::vector<HostArgument>& arguments,
                                   const HostCheckOptions& options) {
  Problem problem(expected, arguments, options);
  const auto after = [&](const ir::Function& function) {
    return problem.after(true, [&](const int64_t* slots) {
      codegen::interpret(function, slots, options.work.data(), options.worker);
    });
  };
  const auto wanted = after(expected), had = after(found);
  return problem.compare(wanted, had, true);
}

std::string host_difference(std::string_view text, const std::vector<HostArgument>& arguments,
                            const HostCheckOptions& options) {
  return host_difference(*ir::parse(text), arguments, options);
}

}  // namespace heddle::test
