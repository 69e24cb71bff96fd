// The interpreter: runs a function plainly, op by op, on this thread. It is the oracle that compiled code is
// compared with, so it is written to be obviously right. Takes tile IR, also as the tracer records it, and
// scheduled IR.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Memory that a function may touch.
struct MemoryRange {
  const void* base = nullptr;
  int64_t bytes = 0;
  bool writable = true;
};

struct InterpretOptions {
  std::array<int64_t, 3> program{};  // what program_id{0..2} yields
  int64_t tile = 0;  // which tile of its work space tile_id picks; the last axis counts fastest
  // When set, an access outside all of these fails (internal) with the op, its line and the address; nothing
  // is touched by that lane.
  std::optional<std::vector<MemoryRange>> allowed{};
};

// Runs `function` once. `arguments`, `work` and `worker` as HostEntry takes them (codegen/compile.h); `work`
// may be null where no work_param is read. Functions like exp are expanded in a copy first.
void interpret(const ir::Function& function, const int64_t* arguments, const int64_t* work, int64_t worker,
               const InterpretOptions& options = {});

// Runs tile IR, as it was before scheduling, once for every tile of its work space (in row order) and every
// program of `grid`; those two of the options are not read.
void interpret_all(const ir::Function& function, const int64_t* arguments,
                   std::array<int64_t, 3> grid = {1, 1, 1}, InterpretOptions options = {});

}  // namespace heddle::codegen
