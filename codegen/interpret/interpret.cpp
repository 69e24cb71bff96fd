// The interpreter's walk: one value map, one function per kind of op. Values of lane kinds are row-major
// vectors of lanes; a view is its base address, its extents, its strides.
#include "codegen/interpret/interpret.h"

#include <cstring>
#include <unordered_map>

#include "codegen/interpret/tile_ops.h"
#include "codegen/ir/evaluate.h"
#include "codegen/ir/fail.h"
#include "codegen/passes/expand_math.h"

namespace heddle::codegen {

namespace {

using ir::Lane;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

// Thrown by tile_id when its work space is empty: nothing is left to do.
struct EmptyWorkSpace {};

class Interpreter {
 public:
  Interpreter(const int64_t* work, int64_t worker, const InterpretOptions& options)
      : work_(work), worker_(worker), options_(options) {}

  void run(const ir::Function& function, const int64_t* arguments) {
    for (const ir::Parameter& parameter : function.parameters) {
      const Type& type = parameter.value->type;
      Lanes& lanes = values_[parameter.value];
      if (type.kind == Type::Kind::view) {
        lanes.assign(arguments, arguments + 1 + 2 * type.rank);
      } else {
        lanes.assign(1, Lane(*arguments));
        if (type.kind == Type::Kind::data) lanes[0] = own_bits(type.element, lanes[0]);
      }
      arguments += lanes.size();
    }
    run(function.body);
  }

  // Tiles of the work space of the tile_id that ran; 1 where there was none.
  int64_t tile_count() const { return tile_count_; }

 private:
  static Lane own_bits(DType type, Lane lane) {
    if (type == DType::i1) return lane & 0xff ? 1 : 0;
    return bit_width(type) == 64 ? lane : lane & ((Lane(1) << bit_width(type)) - 1);
  }

  const Lanes& lanes(const Value* value) const { return values_.at(value); }
  int64_t scalar(const Value* value) const { return int64_t(lanes(value)[0]); }

  // Runs the ops up to the region's yield and returns what it yields.
  std::vector<Lanes> run(const Region& region) {
    std::vector<Lanes> yielded;
    for (const Op* op : region.ops) {
      if (op->code == Opcode::yield)
        for (const Value* operand : op->operands) yielded.push_back(lanes(operand));
      else
        run(*op);
    }
    return yielded;
  }

  void set(const std::vector<Value*>& targets, size_t first, std::vector<Lanes>&& values) {
    for (size_t i = 0; i < values.size(); ++i) values_[targets[first + i]] = std::move(values[i]);
  }

  void run(const Op& op) {
    if (op.results.size() == 1 && ir::can_evaluate(op.code, op.operands.empty() ? DType::f32 : element(op)))
      return run_lane_op(op);
    switch (op.code) {
      case Opcode::load:
      case Opcode::store: return run_pointer_access(op);
      case Opcode::load_view:
      case Opcode::store_view: return run_view_access(op);
      case Opcode::tile_id: return run_tile_id(op);
      case Opcode::for_loop: return run_for(op);
      case Opcode::while_loop: return run_while(op);
      case Opcode::if_else: return set(op.results, 0, run(*op.regions[scalar(op.operands[0]) ? 0 : 1]));
      case Opcode::write_variable: values_[op.operands[0]] = lanes(op.operands[1]); return;
      default: values_[op.result()] = compute(op); return;
    }
  }

  // Ops with one result, no effect and no region.
  Lanes compute(const Op& op) {
    const Type& type = op.result()->type;
    auto operand = [&](int i) -> const Lanes& { return lanes(op.operands[i]); };
    auto operand_type = [&](int i) -> const Type& { return op.operands[i]->type; };
    switch (op.code) {
      case Opcode::constant: return Lanes(type.count(), ir::lane_of_payload(type.element, op.attribute(0)));
      case Opcode::arange: {
        Lanes result(type.count());
        for (size_t i = 0; i < result.size(); ++i) result[i] = i;
        return result;
      }
      case Opcode::broadcast: return broadcast(operand(0), operand_type(0), type);
      case Opcode::transpose: return transpose(operand(0), operand_type(0));
      case Opcode::expand:
      case Opcode::squeeze:
      case Opcode::variable:
      case Opcode::read_variable: return operand(0);
      case Opcode::dot: return dot(operand(0), operand(1), operand(2), operand_type(0), operand_type(1));
      case Opcode::reduce:
        return reduce(operand(0), operand_type(0), ir::ReduceKind(op.attribute(0)), int(op.attribute(1)));
      case Opcode::view_extent: return {operand(0)[1 + op.attribute(0)]};
      case Opcode::view_stride: return {operand(0)[1 + operand_type(0).rank + op.attribute(0)]};
      case Opcode::pointer_add: {
        Lanes result = operand(0);
        for (size_t i = 0; i < result.size(); ++i) result[i] += operand(1)[i] * size_bytes(type.element);
        return result;
      }
      case Opcode::program_id: return {Lane(options_.program[op.attribute(0)])};
      case Opcode::worker_id: return {Lane(worker_)};
      case Opcode::work_param: return {Lane(work_[op.attribute(0)])};
      default:
        fail(ErrorKind::internal, op.where, "the interpreter can't run {} on {}", info(op.code).name,
             op.operands.empty() ? "nothing" : to_string(operand_type(0)));
    }
  }

  // The element type that evaluate() goes by: of select that of the values, else that of the operands.
  static DType element(const Op& op) { return op.operands.back()->type.element; }

  void run_lane_op(const Op& op) {
    const Lane* operands[3] = {};
    for (size_t i = 0; i < op.operands.size(); ++i) operands[i] = lanes(op.operands[i]).data();
    const Type& type = op.result()->type;
    Lanes result(type.count());
    evaluate(op.code, element(op), type.element, operands, result.data(), type.count());
    values_[op.result()] = std::move(result);
  }

  void run_tile_id(const Op& op) {
    const int rank = int(op.operands.size());
    tile_count_ = 1;
    std::vector<int64_t> tiles(rank);
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t extent = scalar(op.operands[axis]), size = op.attribute(axis);
      tiles[axis] = extent <= 0 ? 0 : (extent - 1) / size + 1;
      tile_count_ *= tiles[axis];
    }
    if (tile_count_ == 0) throw EmptyWorkSpace{};
    if (options_.tile < 0 || options_.tile >= tile_count_)
      fail(ErrorKind::internal, op.where, "tile {} was asked for, but the work space has {} tiles",
           options_.tile, tile_count_);
    int64_t rest = options_.tile;
    for (int axis = rank - 1; axis >= 0; --axis) {
      values_[op.result(axis)] = {Lane(rest % tiles[axis] * op.attribute(axis))};
      rest /= tiles[axis];
    }
  }

  void run_for(const Op& op) {
    const Region& body = *op.regions[0];
    int64_t index = scalar(op.operands[0]);
    const int64_t upper = scalar(op.operands[1]), step = scalar(op.operands[2]);
    std::vector<Lanes> state;
    for (size_t i = 3; i < op.operands.size(); ++i) state.push_back(lanes(op.operands[i]));
    while (step > 0 ? index < upper : step < 0 && index > upper) {
      values_[body.arguments[0]] = {Lane(index)};
      set(body.arguments, 1, std::move(state));
      state = run(body);
      if (__builtin_add_overflow(index, step, &index)) break;  // past every possible bound
    }
    set(op.results, 0, std::move(state));
  }

  void run_while(const Op& op) {
    std::vector<Lanes> state;
    for (const Value* operand : op.operands) state.push_back(lanes(operand));
    for (;;) {
      set(op.regions[0]->arguments, 0, std::move(state));
      state = run(*op.regions[0]);
      const bool again = state[0][0];
      state.erase(state.begin());
      if (!again) break;
      set(op.regions[1]->arguments, 0, std::move(state));
      state = run(*op.regions[1]);
    }
    set(op.results, 0, std::move(state));
  }

  void run_pointer_access(const Op& op) {
    const bool loads = op.code == Opcode::load;
    const Lanes& pointers = lanes(op.operands[0]);
    const size_t mask_at = loads ? 1 : 2;
    const Lanes* mask = op.operands.size() > mask_at ? &lanes(op.operands[mask_at]) : nullptr;
    const Lanes* fill = loads && op.operands.size() > 2 ? &lanes(op.operands[2]) : nullptr;
    const Lanes* values = loads ? nullptr : &lanes(op.operands[1]);
    const DType type = op.operands[0]->type.element;
    Lanes result(loads ? pointers.size() : 0);
    for (size_t i = 0; i < pointers.size(); ++i) {
      const bool live = !mask || (*mask)[i];
      if (loads)
        result[i] = live ? read(op, pointers[i], type) : fill ? (*fill)[i] : 0;
      else if (live)
        write(op, pointers[i], type, (*values)[i]);
    }
    if (loads) values_[op.result()] = std::move(result);
  }

  // The tile's axes are the view's last ones; lanes outside [0, extent) on any axis of the view are off.
  void run_view_access(const Op& op) {
    const bool loads = op.code == Opcode::load_view;
    const Type& view_type = op.operands[0]->type;
    const Type& tile = loads ? op.result()->type : op.operands[1]->type;
    const Lanes& view = lanes(op.operands[0]);
    const Lanes* values = loads ? nullptr : &lanes(op.operands[1]);
    Lane offsets[ir::kMaxRank];
    for (int axis = 0; axis < view_type.rank; ++axis)
      offsets[axis] = scalar(op.operands[(loads ? 1 : 2) + axis]);
    const int leading = view_type.rank - tile.rank;
    const Lane fill = loads && op.attribute(0) ? lanes(op.operands.back())[0] : 0;
    Lanes result(loads ? tile.count() : 0);
    for_each_index(tile, [&](int64_t lane, const auto& index) {
      bool live = true;
      Lane address = view[0];
      for (int axis = 0; axis < view_type.rank; ++axis) {
        const Lane within = axis < leading ? 0 : Lane(index[axis - leading]);
        const Lane position = offsets[axis] + within;
        live = live && int64_t(position) >= 0 && int64_t(position) < int64_t(view[1 + axis]);
        address += position * view[1 + view_type.rank + axis] * size_bytes(tile.element);
      }
      if (loads)
        result[lane] = live ? read(op, address, tile.element) : fill;
      else if (live)
        write(op, address, tile.element, (*values)[lane]);
    });
    if (loads) values_[op.result()] = std::move(result);
  }

  Lane read(const Op& op, Lane address, DType type) {
    check_access(op, address, type, false);
    Lane lane = 0;
    std::memcpy(&lane, reinterpret_cast<const void*>(address),
                size_bytes(type));  // little-endian, as all our targets
    return own_bits(type, lane);
  }

  void write(const Op& op, Lane address, DType type, Lane lane) {
    check_access(op, address, type, true);
    std::memcpy(reinterpret_cast<void*>(address), &lane, size_bytes(type));
  }

  void check_access(const Op& op, Lane address, DType type, bool writes) const {
    if (!options_.allowed) return;
    const Lane bytes = size_bytes(type);
    for (const MemoryRange& range : *options_.allowed) {
      const Lane start = address - reinterpret_cast<Lane>(range.base);
      if (start < Lane(range.bytes) && Lane(range.bytes) - start >= bytes && (range.writable || !writes))
        return;
    }
    fail(ErrorKind::internal, op.where, "{} touches {} bytes at {:#x}, outside the memory it may {}",
         info(op.code).name, bytes, address, writes ? "write" : "read");
  }

  const int64_t* work_;
  int64_t worker_;
  const InterpretOptions& options_;
  std::unordered_map<const Value*, Lanes> values_;
  int64_t tile_count_ = 1;
};

// The function itself, or an expanded copy if it has math functions.
class Expanded {
 public:
  explicit Expanded(const ir::Function& original) : function_(&original) {
    if (!has_math(original)) return;
    copy_ = ir::clone(original);
    expand_math(*copy_);
    function_ = copy_.get();
  }
  const ir::Function& function() const { return *function_; }

 private:
  std::unique_ptr<ir::Function> copy_;
  const ir::Function* function_;
};

}  // namespace

void interpret(const ir::Function& function, const int64_t* arguments, const int64_t* work, int64_t worker,
               const InterpretOptions& options) {
  const Expanded expanded(function);
  try {
    Interpreter(work, worker, options).run(expanded.function(), arguments);
  } catch (const EmptyWorkSpace&) {
  }
}

void interpret_all(const ir::Function& function, const int64_t* arguments, std::array<int64_t, 3> grid,
                   InterpretOptions options) {
  const Expanded expanded(function);
  auto& [x, y, z] = options.program;
  for (z = 0; z < grid[2]; ++z)
    for (y = 0; y < grid[1]; ++y)
      for (x = 0; x < grid[0]; ++x) {
        int64_t tiles = 1;
        for (options.tile = 0; options.tile < tiles; ++options.tile) {
          Interpreter interpreter(nullptr, 0, options);
          try {
            interpreter.run(expanded.function(), arguments);
          } catch (const EmptyWorkSpace&) {
            break;
          }
          tiles = interpreter.tile_count();
        }
      }
}

}  // namespace heddle::codegen
