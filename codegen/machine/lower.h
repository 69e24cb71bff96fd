// Scheduled tile IR -> machine program: what the threads of one CTA do for one worker.
//
// Tiles get layouts over registers, lanes and warps; what must cross threads goes through shared memory, with
// barriers; operands of dots are copied there, in a loop through a ring of stages that cp.async fills ahead.
#pragma once

#include <memory>

#include "codegen/ir/ir.h"
#include "codegen/ir/schedule.h"
#include "codegen/target.h"

namespace heddle::codegen {

// `function` is scheduled and expanded; the result is verified. Throws Error (schedule) with numbers where
// the program would need more than the device has.
std::unique_ptr<ir::Function> lower_to_machine(const ir::Function& function, const Schedule& schedule,
                                               const GpuTarget& target, Location schedule_where);

}  // namespace heddle::codegen
