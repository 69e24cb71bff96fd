// The environment is read for each kernel that is made, which costs nothing beside making it.
#include "codegen/dump.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>

#include "codegen/host/compile.h"
#include "codegen/ir/print.h"
#include "codegen/nvptx/nvptx.h"

namespace heddle::codegen {

namespace {

struct StageRow {
  const char *name, *extension;
};
constexpr StageRow kStages[] = {{"tile", "hir"},    {"canonical", "hir"}, {"scheduled", "hir"},
                                {"machine", "hir"}, {"llvm", "ll"},       {"asm", "s"},
                                {"ptx", "ptx"}};
constexpr int kStageCount = int(std::size(kStages));

// Once for each text: a program makes many kernels.
void warn_once(const std::string& message) {
  // Never destroyed: kernels may be launched from destructors of static objects.
  static std::mutex& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said.insert(message).second) std::fputs(("heddle: warning: " + message + "\n").c_str(), stderr);
}

std::string_view environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

std::string known_stages() {
  std::string list;
  for (const StageRow& row : kStages) (list += list.empty() ? "" : ", ") += row.name;
  return list;
}

unsigned parse_stages(std::string_view words) {
  unsigned stages = 0;
  while (!words.empty()) {
    const size_t end = words.find(',');
    std::string_view word = words.substr(0, end);
    words.remove_prefix(end == words.npos ? words.size() : end + 1);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    int stage = 0;
    while (stage < kStageCount && word != kStages[stage].name) ++stage;
    if (stage < kStageCount)
      stages |= 1u << stage;
    else if (!word.empty())
      warn_once(fmt::format("HEDDLE_DUMP knows no stage '{}'; it knows {}", word, known_stages()));
  }
  return stages;
}

// A kernel's name may hold anything; a file's name here does not.
std::string file_name(std::string_view kernel) {
  std::string name;
  for (const char c : kernel.substr(0, 100))
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  return name;
}

}  // namespace

Dump::Dump(const ir::Function& subject) : stages_(parse_stages(environment("HEDDLE_DUMP"))) {
  if (!stages_) return;
  folder_ = environment("HEDDLE_DUMP_DIR");
  const std::string text = ir::print(subject);
  name_ = fmt::format("{}-{:016x}", file_name(subject.name), XXH3_64bits(text.data(), text.size()));
}

void Dump::write(Stage stage, const ir::Function& function) const {
  if (wants(stage)) write(stage, ir::print(function));
}

void Dump::write_host_code(const ir::Function& scheduled) const {
  if (!wants(Stage::llvm) && !wants(Stage::assembly)) return;
  const host::Compiled compiled = host::compile_for(scheduled, host::this_cpu(), true);
  if (wants(Stage::llvm)) write(Stage::llvm, compiled.llvm);
  if (wants(Stage::assembly)) write(Stage::assembly, compiled.assembly);
}

void Dump::write_gpu_code(const ir::Function& program, const GpuTarget& target) const {
  if (wants(Stage::llvm)) write(Stage::llvm, print_ptx_llvm(program, target.sm));
  if (wants(Stage::ptx)) write(Stage::ptx, compile_ptx(program, target.sm).ptx);
}

void Dump::write(Stage stage, const std::string& text) const {
  const StageRow& row = kStages[int(stage)];
  const std::string name = fmt::format("{}.{}.{}", name_, row.name, row.extension);
  if (folder_.empty()) {
    std::fputs(fmt::format("==== {}\n{}\n", name, text).c_str(), stderr);
    return;
  }
  std::error_code ignored;  // what matters is whether the file could be written
  std::filesystem::create_directories(folder_, ignored);
  const std::filesystem::path path = std::filesystem::path(folder_) / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!(file << text).flush())
    warn_once(fmt::format("HEDDLE_DUMP_DIR={}: {} can't be written", folder_, path.string()));
}

}  // namespace heddle::codegen
