// Shows what a kernel becomes on its way to code: the text of each stage that HEDDLE_DUMP names, on stderr or
// as files.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/ir/ir.h"
#include "codegen/target.h"

namespace heddle::codegen {

// The places where a kernel can be looked at, by the names that HEDDLE_DUMP uses. IR reads back by ir::parse.
enum class Stage : uint8_t {
  tile,       // as it was traced, variables and all
  canonical,  // tile IR that schedules are chosen by
  scheduled,  // what targets compile, and what the cache's key is made of
  machine,    // what the threads of a GPU's CTA do
  llvm,       // for the target, optimised
  assembly,   // "asm": the CPU's
  ptx,        // a GPU's
};

// What the environment asks for at the moment. HEDDLE_DUMP: stages separated by commas; an unknown one is
// warned of, once. HEDDLE_DUMP_DIR: a folder, made if need be, that receives <kernel>-<key>.<stage>.<ext>
// instead of stderr; the key is a hash of the text of `subject`, so stages of one subject stand side by side.
class Dump {
 public:
  explicit Dump(const ir::Function& subject);

  bool wants(Stage stage) const { return stages_ >> int(stage) & 1; }
  void write(Stage stage, const ir::Function& function) const;
  // The stages behind scheduled IR. Compiles it for them, so that they don't depend on what the cache holds.
  void write_host_code(const ir::Function& scheduled) const;
  // The stages behind a machine program, likewise.
  void write_gpu_code(const ir::Function& program, const GpuTarget& target) const;

 private:
  void write(Stage stage, const std::string& text) const;

  unsigned stages_ = 0;  // a bit for each
  std::string folder_, name_;
};

}  // namespace heddle::codegen
