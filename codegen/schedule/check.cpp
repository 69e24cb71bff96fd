// check_schedule: what this version honours, and why it refuses the rest.
#include <algorithm>

#include "codegen/ir/fail.h"
#include "codegen/schedule/json.h"
#include "codegen/schedule/lower.h"

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;

[[noreturn]] void refuse(const ir::Function& function, Location where, const std::string& reason) {
  fail(ErrorKind::schedule, where, "kernel '{}': {}", function.name, reason);
}

void require_default(bool is_default, const ir::Function& function, Location where, const char* what) {
  if (!is_default)
    refuse(function, where,
           fmt::format("the schedule asks for {}, which this version can't honour yet; leave the field out",
                       what));
}

const Op* first_program_id(const ir::Function& function) {
  const Op* found = nullptr;
  ir::walk(function.body, [&](const Op* op) {
    if (op->code == Opcode::program_id && !found) found = op;
  });
  return found;
}

void check_gpu_fields(const ir::Function& function, const Schedule& schedule, Location where) {
  const int64_t warps = schedule.warps.warps, ctas = schedule.warps.ctas_per_sm,
                stages = schedule.loads.stages;
  if (warps < 0 || warps > 32 || (warps & (warps - 1)) != 0)
    refuse(function, where,
           fmt::format("warps=uniform with {} warps; a CTA has 1, 2, 4, 8, 16 or 32", warps));
  if (ctas < 0 || ctas > 64 / std::max<int64_t>(warps, 1))
    refuse(function, where,
           fmt::format("{} CTAs of {} warps on a multiprocessor, which holds 64 warps", ctas, warps));
  if (stages < 0 || stages > 16)
    refuse(function, where,
           fmt::format("loads with {} stages; 1 to 16 are possible, 0 lets the rule choose", stages));
}

// Fields whose engines do not exist yet: refused by name, never ignored.
void refuse_fields_of_the_future(const ir::Function& function, const Schedule& schedule, Target target,
                                 Location where) {
  const Schedule standard;
  auto require = [&](bool is_default, const char* what) {
    require_default(is_default, function, where, what);
  };
  auto require_gpu = [&](bool is_default, const char* field) {
    if (!is_default)
      refuse(function, where,
             fmt::format("the schedule asks for {}, which is for GPUs alone; leave the field out on a CPU",
                         field));
  };
  require(schedule.work.kind != Work::Kind::split_k, "work=split_k");
  require(schedule.work.kind != Work::Kind::stream_k, "work=stream_k");
  require(!schedule.work.dynamic, "work=persistent{dynamic}");
  require(schedule.order.kind != Order::Kind::serpentine, "order=serpentine");
  require(schedule.order.kind != Order::Kind::hilbert, "order=hilbert");
  require(schedule.order.raster == Raster::along_rows, "a raster along columns");
  require(schedule.warps.kind != Warps::Kind::warp_specialize, "warps=warp_specialize");
  require(schedule.loads.engine != Engine::tma, "loads through tma");
  if (target == Target::cpu) {
    require_gpu(schedule.loads == standard.loads, "loads");
    require_gpu(schedule.warps == standard.warps, "warps");
  } else {
    check_gpu_fields(function, schedule, where);
  }
  require(schedule.cluster == standard.cluster, "cluster");
  require(schedule.epilogue == standard.epilogue, "epilogue");
  require(!schedule.swap_ab, "swap_ab");
  require(!schedule.pdl, "pdl");
}

// Fields of another choice than the one made, values of no enumerator: what can't be written would be
// ignored.
void refuse_what_has_no_text(const ir::Function& function, const Schedule& schedule, Location where) {
  std::string reason = "fields belong to another choice than the one made";
  try {
    if (schedule_from_json(to_json(schedule)) == schedule) return;
  } catch (const Error& error) {
    reason = error.message();
  }
  refuse(function, where,
         fmt::format("the schedule has no meaning, written as {}: {}", json_text(to_json(schedule)), reason));
}

}  // namespace

void check_schedule(const ir::Function& function, const Schedule& schedule, Target target, Location where) {
  refuse_fields_of_the_future(function, schedule, target, where);
  // data_parallel and persistent walk every reduction in one chain, so they keep each of the other contracts.
  if (schedule.numerics.kind == Numerics::Kind::chunks)
    require_default(false, function, where, "numerics=chunks");

  const Op* space = work_space(function);
  const Op* program = first_program_id(function);
  if (space && program)
    fail(ErrorKind::trace, program->where,
         "kernel '{}' asks both tile_id and program_id; take the work from one of them", function.name);
  if (schedule.work.kind == Work::Kind::persistent) {
    if (program)
      fail(ErrorKind::schedule, program->where,
           "work=persistent needs a kernel that takes its work from tile_id; '{}' uses program_id",
           function.name);
    if (!space)
      refuse(
          function, where,
          "work=persistent needs a kernel that takes its work from tile_id, and this one has no work space");
    if (schedule.work.workers < 0 || schedule.work.workers > INT32_MAX)
      refuse(function, where,
             fmt::format("work=persistent with {} workers; 0 (chosen) to 2147483647 are possible",
                         schedule.work.workers));
  }
  if (schedule.order.kind == Order::Kind::grouped) {
    if (!space || space->operands.size() < 2)
      refuse(function, space ? space->where : where, "order=grouped needs a work space of at least two axes");
    if (schedule.order.size < 1)
      refuse(function, where,
             fmt::format("order=grouped with a group of {}; at least 1 is needed", schedule.order.size));
  }
  refuse_what_has_no_text(function, schedule, where);
}

}  // namespace heddle::codegen
