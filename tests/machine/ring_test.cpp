// Rings of copies, run as one thread would run the machine program while any other thread may be as far
// behind as barriers let it: what is multiplied has arrived for all threads, in K order, and no copy or store
// overwrites what a slower thread may still read.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

#include "codegen/ir/evaluate.h"
#include "codegen/ir/print.h"
#include "codegen/machine/lower.h"
#include "codegen/machine/shared_memory.h"
#include "samples/gemm/gemm.h"
#include "tests/support/ptx.h"

using namespace heddle;
using namespace heddle::codegen;
using ir::Opcode;
using ir::Value;

namespace {

// A product whose result is one tile; the only worker's tile is at 0, 0.
class Run {
 public:
  Run(const ir::Function& program, int64_t k_extent) : program_(program), k_extent_(k_extent) {
    region(program.body);
  }
  int64_t stored() const { return stored_; }  // steps of K in the result

 private:
  static constexpr int64_t kUnknown = -1;  // of tiles: nobody may multiply it

  struct Slot {
    int64_t k = kUnknown, group = 0;
    bool arrived = false;  // for all threads
    bool read = false;     // since the last barrier
  };

  Slot& slot(const ir::Op& op, size_t buffer) {
    return slots_[{op.operands[buffer], values_.at(op.operands[buffer + 1])}];
  }
  int64_t read(const ir::Op& op, size_t buffer) {
    Slot& from = slot(op, buffer);
    from.read = true;
    return from.arrived ? from.k : kUnknown;
  }

  void region(const ir::Region& region) {
    for (const ir::Op* next : region.ops) op(*next);
  }
  // What `region` yields.
  std::vector<int64_t> run(const ir::Region& region, const std::vector<int64_t>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) values_[region.arguments[i]] = arguments[i];
    this->region(region);
    std::vector<int64_t> yielded;
    for (const Value* value : region.ops.back()->operands) yielded.push_back(values_.at(value));
    return yielded;
  }

  void op(const ir::Op& op) {
    const auto value = [&](size_t i) { return values_.at(op.operands[i]); };
    const auto result = [&](int64_t is) { values_[op.results[0]] = is; };
    switch (op.code) {
      case Opcode::constant: return result(op.results[0]->type.rank ? 0 : op.attribute(0));
      case Opcode::worker_id: return result(0);
      case Opcode::view_extent: {
        const bool is_k = op.operands[0] == program_.parameters[op.attribute(0) == 1 ? 0 : 1].value;
        return result(is_k ? k_extent_ : 1);
      }
      case Opcode::shared_buffer: return;
      case Opcode::copy_async: {
        Slot& to = slot(op, 1);
        CHECK_MESSAGE(!to.read, "copied over what others may still read");
        to = {.k = value(3) + value(4), .group = groups_};
        return;
      }
      case Opcode::commit_copies: ++groups_; return;
      case Opcode::wait_copies: landed_ = std::max(landed_, groups_ - op.attribute(0)); return;
      case Opcode::barrier:
        for (auto& [place, slot] : slots_) {
          slot.read = false;
          slot.arrived = slot.k != kUnknown && slot.group < landed_;
        }
        return;
      case Opcode::load_fragments: {
        const int64_t k = read(op, 0);
        return result(k == kUnknown ? kUnknown : k + op.attribute(0));
      }
      case Opcode::mma_fragments:
        CHECK(value(0) == value(2));
        CHECK(value(1) == value(2));
        return result(value(2) + op.attribute(1));
      case Opcode::mma:
        CHECK(read(op, 0) == value(4));
        CHECK(read(op, 2) == value(4));
        return result(value(4) + op.attribute(0));
      case Opcode::store_shared:
        for (const auto& [place, slot] : slots_) {
          CHECK_MESSAGE(!slot.read, "stored over what others may still read");
          CHECK_MESSAGE((slot.k == kUnknown || slot.arrived), "stored where copies are under way");
        }
        staged_ = value(0);
        return;
      case Opcode::load_shared: return result(staged_);
      case Opcode::store_view: stored_ = value(1); return;
      case Opcode::cast: return result(value(0));
      case Opcode::yield: return;
      case Opcode::if_else: run(*op.regions[value(0) ? 0 : 1], {}); return;
      case Opcode::for_loop: {
        std::vector<int64_t> state;
        for (size_t i = 3; i < op.operands.size(); ++i) state.push_back(value(i));
        for (int64_t index = value(0); index < value(1); index += value(2)) {
          state.insert(state.begin(), index);
          state = run(*op.regions[0], state);
        }
        for (size_t i = 0; i < state.size(); ++i) values_[op.results[i]] = state[i];
        return;
      }
      default: {
        REQUIRE(ir::can_evaluate(op.code, op.operands.back()->type.element));
        std::vector<ir::Lane> lanes;
        for (size_t i = 0; i < op.operands.size(); ++i) lanes.push_back(ir::Lane(value(i)));
        result(int64_t(ir::evaluate(op.code, op.operands.back()->type.element, op.results[0]->type.element,
                                    lanes.data())));
      }
    }
  }

  const ir::Function& program_;
  const int64_t k_extent_;
  std::map<const Value*, int64_t> values_;  // of a tile: the step of K it belongs to, or steps it has summed
  std::map<std::pair<const Value*, int64_t>, Slot> slots_;
  int64_t groups_ = 0, landed_ = 0;  // of copies: closed ones, and those that are complete for this thread
  int64_t staged_ = kUnknown, stored_ = kUnknown;
};

std::unique_ptr<ir::Function> machine_program(const runtime::KernelSource& source, const Schedule& schedule) {
  constexpr runtime::ArgumentFacts kAligned{.unit_stride_axis = 1, .aligned16 = true};
  return lower_to_machine(*test::scheduled(source, schedule, {kAligned, kAligned, kAligned}), schedule,
                          {.sm = 80, .shared_bytes = 163 * 1024}, {});
}

template <class T>
void check(int64_t bk, bool ahead) {
  using namespace sample;
  for (int64_t stages = 1; stages <= 5; ++stages) {
    const Schedule schedule{.dims = {BM = 64, BN = 64, BK = bk}, .loads = pipeline{.stages = stages}};
    const auto program = machine_program(gemm<T>.source(), schedule);
    CAPTURE(stages);
    CAPTURE(bk);
    CHECK((ir::print(*program).find("mma_fragments") != std::string::npos) == (ahead && stages > 1));
    for (const int64_t turns : {0, 1, 2, 3, 4, 5, 11}) {
      CAPTURE(turns);
      CHECK(Run(*program, turns * bk).stored() == turns * bk);
    }
  }
}

}  // namespace

TEST_CASE("a ring of copies feeds the tensor cores, fragments loaded ahead") {
  for (const int64_t bk : {16, 32, 64}) check<bf16>(bk, /*ahead=*/true);
}

TEST_CASE("a ring of copies feeds chains of fma") {
  check<f32>(16, /*ahead=*/false);
}
