// Tile IR and a schedule -> scheduled IR: what one worker does.
//
// A kernel that takes its work from tile_id is wrapped so that `worker_id` finds its tile, or walks its
// tiles; a kernel that asks program_id gets the launch grid unfolded. What differs from run to run (number of
// workers, grid, group) is read through work_param, so that it costs no compile.
#pragma once

#include <memory>

#include "codegen/ir/ir.h"
#include "codegen/ir/schedule.h"
#include "codegen/target.h"

namespace heddle::codegen {

// Slots of the launch's WorkParams.
enum WorkParam : int64_t { kWorkers, kGridX, kGridY, kGridZ, kGroup, kWorkParamCount };

// Refuses, by name and reason, what can't be honoured; `schedule_where` is blamed where no line of the kernel
// is. Throws Error (schedule).
void check_schedule(const ir::Function& function, const Schedule& schedule, Target target,
                    Location schedule_where);

// `function` is canonical tile IR; the result holds neither tile_id nor program_id.
std::unique_ptr<ir::Function> lower_schedule(const ir::Function& function, const Schedule& schedule);

// The one tile_id of a kernel, or null if it has none. Throws Error (trace) if it has several.
const ir::Op* work_space(const ir::Function& function);

}  // namespace heddle::codegen
