#include "tests/support/random_ir.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "codegen/ir/builder.h"
#include "codegen/ir/check.h"
#include "codegen/ir/evaluate.h"

namespace heddle::test {

namespace {

using ir::Builder;
using ir::Extent;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

constexpr int kDTypes = int(DType::f64) + 1;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
constexpr Type kIndex = {.kind = Type::Kind::data, .element = DType::i64};
constexpr Type kCondition = {.kind = Type::Kind::data, .element = DType::i1};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), build_(*function_, function_->body) {
    function_->name = "random";
    const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 20};
    for (int i = 0; i < 4; ++i) {
      Extent extent{.value = sizes[below(std::size(sizes))]};
      if (i < 2) {
        function_->dims.push_back({.name = i ? "Y" : "X", .value = extent.value});
        extent.dim = i;
      }
      extents_.push_back(extent);
    }
  }

  RandomProgram run() {
    for (uint64_t i = below(3); i > 0; --i) scalar_parameter();
    statements(6 + int(below(20)));
    for (uint64_t i = 4 + below(4); i > 0; --i) {
      Value* slot = variables_.empty() ? nullptr : variables_[below(variables_.size())];
      Value* value = slot && chance(30) ? build_.value(Opcode::read_variable, {slot}) : recent();
      output(value ? value : constant(kIndex));
    }
    return {std::move(function_), std::move(arguments_)};
  }

 private:
  // Choices. Never two in one argument list: its order is the compiler's.

  uint64_t below(uint64_t end) { return random_() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }
  int64_t between(int64_t low, int64_t high) { return low + int64_t(below(uint64_t(high - low + 1))); }
  DType dtype() { return DType(below(kDTypes)); }

  DType dtype_in(ir::Domain domain) {
    for (;;)
      if (const DType type = dtype(); ir::in_domain(domain, type)) return type;
  }

  Type shape() {
    const int ranks[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4};
    return shape(ranks[below(std::size(ranks))]);
  }

  Type shape(int rank) {
    Type type{.kind = Type::Kind::data, .element = DType::f32};
    for (int64_t lanes = 1; type.rank < rank; ++type.rank) {
      Extent& extent = type.extents[type.rank] = chance(12) ? Extent{.value = 1} : extents_[below(4)];
      if (lanes * extent.value > 300) extent = {.value = 1};
      lanes *= extent.value;
    }
    return type;
  }

  Value* recent() {
    if (pool_.empty()) return nullptr;
    const size_t window = chance(60) ? std::min<size_t>(pool_.size(), 6) : pool_.size();
    return pool_[pool_.size() - 1 - below(window)];
  }

  // A visible value for which `suits` holds, or null.
  template <class Suits>
  Value* find(Suits&& suits) {
    std::vector<Value*> found;
    for (Value* value : pool_)
      if (suits(value->type)) found.push_back(value);
    if (found.empty()) return nullptr;
    const size_t window = chance(60) ? std::min<size_t>(found.size(), 3) : found.size();
    return found[found.size() - 1 - below(window)];
  }

  // Values.

  Value* push(Value* value) {
    pool_.push_back(value);
    return value;
  }

  Value* number(const Type& type, double value) { return build_.constant(type, value); }

  Value* constant(const Type& type) {
    if (is_any_float(type.element)) {
      const double special[] = {0.0,   -0.0, 1.0,   -1.0,    0.5,    3.0,   std::nan(""), HUGE_VAL, -HUGE_VAL,
                                1e-40, 6e-8, 448.0, 65504.0, 3.3e38, 1e300, 2.5,          -7.25,    1e9};
      return number(type, special[below(std::size(special))]);
    }
    if (type.element == DType::i1) return build_.integer(type, {.value = int64_t(below(2))});
    const int width = bit_width(type.element);
    const int64_t least = width == 64 ? kLeast : -(int64_t(1) << (width - 1));
    const int64_t edges[] = {0, 1, 2, -1, least, least + 1, ~least, width, width - 1, 7, -3, 5};
    if (chance(5)) return build_.integer(type, extents_[0]);
    return build_.integer(type, {.value = edges[below(std::size(edges))]});
  }

  // What some op leaves its other operand alone for, or nearly.
  Value* neutral(const Type& type) {
    const double numbers[] = {0.0, -0.0, 1.0, -1.0};
    if (is_any_float(type.element)) return number(type, numbers[below(4)]);
    return build_.integer(type, {.value = type.element == DType::i1 ? int64_t(below(2)) : between(-1, 1)});
  }

  Value* pick(const Type& type) {
    if (chance(75))
      if (Value* found = find([&](const Type& other) { return other == type; })) return found;
    return make(type);
  }

  Value* make(const Type& type) {
    switch (below(6)) {
      case 0: return push(load_view(type));
      case 1:
        if (Value* same = find([&](const Type& other) { return ir::same_shape(other, type); }))
          return push(build_.cast(same, type.element));
        break;
      case 2:
        if (type.rank > 0) return push(build_.broadcast(pick(Type::scalar(type.element)), type));
        break;
      case 3:
        if (type.rank == 1) {
          Value* lanes = build_.emit(Opcode::arange, {}, {}, {type.with_element(DType::i64)})->result();
          return push(build_.cast(lanes, type.element));
        }
        break;
      case 4:
        if (type == kIndex) return push(launch_question());
        break;
      case 5: return push(load(type));
    }
    return push(constant(type));
  }

  Value* launch_question() {
    if (chance(30)) return build_.value(Opcode::worker_id, {});
    if (chance(30)) return build_.value(Opcode::work_param, {}, {{.value = int64_t(below(5))}});
    const size_t number = view(dtype(), 2, false);
    return build_.value(chance(70) ? Opcode::view_extent : Opcode::view_stride,
                        {function_->parameters[number].value}, {{.value = int64_t(below(2))}});
  }

  // An i64 scalar of at most a few in magnitude.
  Value* small_index() {
    if (!indices_.empty() && chance(50)) return indices_[below(indices_.size())];
    if (chance(60)) return build_.index(between(-3, 9));
    Value* any = pick(kIndex);
    return build_.value(Opcode::rem, {any, build_.index(between(2, 6))});
  }

  Value* offset() {
    if (chance(3)) return build_.index(chance(50) ? kMost - int64_t(below(9)) : kLeast + int64_t(below(9)));
    return small_index();
  }

  // Parameters.

  void scalar_parameter() {
    const Type type = Type::scalar(dtype());
    push(function_->add_parameter(type, false).value);
    arguments_.push_back(
        HostArgument::number(type.element == DType::i1 ? int64_t(below(2)) : int64_t(random_())));
  }

  // Shares memory with an earlier argument of this element type, now and then; only among those that are
  // written.
  void share(HostArgument& argument, DType element) {
    if (!chance(30)) return;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const ir::Parameter& other = function_->parameters[i];
      if (other.read_only || other.value->type.kind == Type::Kind::data ||
          other.value->type.element != element)
        continue;
      if (arguments_[i].memory < 0) arguments_[i].memory = int(i);
      argument.memory = arguments_[i].memory;
      argument.offset = int64_t(below(7));
    }
  }

  // The number of a parameter that is a view.
  size_t view(DType element, int rank, bool written) {
    const Type type{.kind = Type::Kind::view, .element = element, .rank = uint8_t(rank)};
    if (chance(60)) {
      std::vector<size_t> found;
      for (size_t i = 0; i < arguments_.size(); ++i)
        if (function_->parameters[i].value->type == type && !(written && function_->parameters[i].read_only))
          found.push_back(i);
      if (!found.empty()) return found[below(found.size())];
    }
    HostArgument argument;
    int64_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
      int64_t extent = chance(6) ? 0 : between(1, 18);
      if (elements * extent > 2000) extent = 1;
      elements *= std::max<int64_t>(extent, 1);
      argument.extents.push_back(extent);
    }
    std::vector<int> order;  // axes, from the fastest on
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
    if (chance(25)) std::reverse(order.begin(), order.end());
    argument.strides.resize(size_t(rank));
    int64_t stride = chance(20) ? 2 : 1;
    for (const int axis : order) {
      argument.strides[size_t(axis)] = chance(10) ? -stride : stride;
      stride *= std::max<int64_t>(argument.extents[size_t(axis)], 1);
      if (chance(20)) stride += 3;
    }
    const bool read_only = !written && chance(60);
    if (read_only && chance(15)) argument.strides[below(uint64_t(rank))] = 0;
    ir::Facts facts;
    for (int axis = 0; axis < rank; ++axis)
      if (argument.strides[size_t(axis)] == 1 && chance(70)) facts.unit_stride_axis = int8_t(axis);
    function_->add_parameter(type, read_only, facts);
    if (!read_only) share(argument, element);
    arguments_.push_back(std::move(argument));
    return arguments_.size() - 1;
  }

  size_t pointer(DType element, bool written) {
    const Type type = Type::scalar(element).with_kind(Type::Kind::pointer);
    if (chance(60))
      for (size_t i = 0; i < arguments_.size(); ++i)
        if (function_->parameters[i].value->type == type && !(written && function_->parameters[i].read_only))
          return i;
    const bool read_only = !written && chance(60);
    function_->add_parameter(type, read_only);
    HostArgument argument = HostArgument::pointer(between(1, 80));
    if (!read_only) share(argument, element);
    arguments_.push_back(std::move(argument));
    return arguments_.size() - 1;
  }

  // Memory.

  int view_rank(const Type& tile) {
    return std::min<int>(ir::kMaxRank, std::max(1, tile.rank + int(below(2))));
  }

  Value* load_view(const Type& tile) {
    const int rank = view_rank(tile);
    std::vector<Value*> operands = {function_->parameters[view(tile.element, rank, false)].value};
    for (int axis = 0; axis < rank; ++axis) operands.push_back(offset());
    const bool fill = chance(35);
    if (fill) operands.push_back(pick(Type::scalar(tile.element)));
    return build_.emit(Opcode::load_view, operands, {{.value = fill}}, {tile})->result();
  }

  void store_view(Value* value) {
    const int rank = view_rank(value->type);
    std::vector<Value*> operands = {function_->parameters[view(value->type.element, rank, true)].value,
                                    value};
    for (int axis = 0; axis < rank; ++axis) operands.push_back(offset());
    build_.emit(Opcode::store_view, operands);
  }

  // All lanes of `value` to memory of their own.
  void output(Value* value) {
    const int rank = std::max<int>(1, value->type.rank);
    const Type type{.kind = Type::Kind::view, .element = value->type.element, .rank = uint8_t(rank)};
    HostArgument argument;
    for (int axis = 0; axis < rank; ++axis)
      argument.extents.push_back(value->type.rank ? value->type.extents[axis].value : 1);
    argument.strides.assign(size_t(rank), 1);
    for (int axis = rank - 1; axis > 0; --axis)
      argument.strides[size_t(axis) - 1] = argument.strides[size_t(axis)] * argument.extents[size_t(axis)];
    std::vector<Value*> operands = {function_->add_parameter(type, false).value, value};
    operands.insert(operands.end(), size_t(rank), build_.index(0));
    arguments_.push_back(std::move(argument));
    build_.emit(Opcode::store_view, operands);
  }

  Value* spread(int64_t value, const Type& like) {
    return build_.integer(like.with_element(DType::i64), {.value = value});
  }

  Value* within(Value* offsets, int64_t elements) {
    Value* from_start = build_.value(Opcode::ge, {offsets, spread(0, offsets->type)});
    Value* before_end = build_.value(Opcode::lt, {offsets, spread(elements, offsets->type)});
    return build_.value(Opcode::bit_and, {from_start, before_end});
  }

  Value* addresses(size_t parameter, Value* offsets) {
    Value* base = build_.broadcast(function_->parameters[parameter].value, offsets->type);
    return build_.value(Opcode::pointer_add, {base, offsets});
  }

  Value* load(const Type& tile) {
    const size_t parameter = pointer(tile.element, false);
    const int64_t elements = arguments_[parameter].extents[0];
    Value* offsets = chance(50) ? lane_numbers(tile) : pick(tile.with_element(DType::i64));
    if (chance(40)) {  // every address is good
      Value* low = build_.value(Opcode::max, {offsets, spread(0, tile)});
      return build_.value(
          Opcode::load, {addresses(parameter, build_.value(Opcode::min, {low, spread(elements - 1, tile)}))});
    }
    Value* mask = within(offsets, elements);
    if (chance(40)) {
      Value* other = pick(tile.with_element(DType::i1));
      mask = build_.value(Opcode::bit_and, {mask, other});
    }
    std::vector<Value*> operands = {addresses(parameter, offsets), mask};
    if (chance(50)) operands.push_back(pick(tile));
    return build_.value(Opcode::load, operands);
  }

  // 0, 1, 2 ... in row-major order.
  Value* lane_numbers(const Type& like) {
    Value* sum = nullptr;
    int64_t stride = 1;
    for (int axis = like.rank; axis-- > 0; stride *= like.extents[axis].value) {
      Type line{.kind = Type::Kind::data, .element = DType::i64, .rank = 1, .extents = {like.extents[axis]}};
      Value* lanes = build_.emit(Opcode::arange, {}, {}, {line})->result();
      lanes = build_.value(Opcode::mul, {lanes, spread(stride, line)});
      for (int before = 0; before < axis; ++before)
        lanes = build_.value(Opcode::expand, {lanes}, {{.value = 0}});
      while (lanes->type.rank < like.rank)
        lanes = build_.value(Opcode::expand, {lanes}, {{.value = lanes->type.rank}});
      lanes = build_.broadcast(lanes, like.with_element(DType::i64));
      sum = sum ? build_.value(Opcode::add, {sum, lanes}) : lanes;
    }
    return sum ? sum : build_.index(0);
  }

  // Lanes write distinct elements.
  void store(Value* value) {
    const size_t parameter = pointer(value->type.element, true);
    const int64_t elements = arguments_[parameter].extents[0];
    Value* offsets = lane_numbers(value->type);
    const int64_t step = between(-2, 3), scale = step ? step : 1;
    if (chance(60)) offsets = build_.value(Opcode::mul, {offsets, spread(scale, value->type)});
    if (chance(60)) {
      Value* base = small_index();
      offsets = build_.value(Opcode::add, {offsets, build_.broadcast(base, offsets->type)});
    }
    Value* mask = within(offsets, elements);
    if (chance(30)) {
      Value* other = pick(value->type.with_element(DType::i1));
      mask = build_.value(Opcode::bit_and, {mask, other});
    }
    build_.emit(Opcode::store, {addresses(parameter, offsets), value, mask});
  }

  // Statements.

  void statements(int count) {
    for (int i = 0; i < count; ++i) statement();
  }

  void statement() {
    const uint64_t kind = below(100);
    if (kind < 8) return again();
    if (kind < 34) return elementwise();
    if (kind < 40) return cast();
    if (kind < 43) return bitcast();
    if (kind < 48) return select();
    if (kind < 57) return reshape();
    if (kind < 62) return reduce();
    if (kind < 65) return dot();
    if (kind < 70) return store_view(value());
    if (kind < 74) return store(value());
    if (kind < 77) return variable();
    if (kind < 82) return write_variable();
    if (kind < 86) return read_variable();
    if (depth_ >= 3) return elementwise();
    if (kind < 91) return for_loop();
    if (kind < 96) return branch();
    return while_loop();
  }

  Value* value() {
    Value* found = recent();
    if (found) return found;
    const Type like = shape();
    return make(like.with_element(dtype()));
  }

  void elementwise() {
    for (;;) {
      const Opcode code = Opcode(below(ir::kOpcodeCount));
      const ir::OpInfo& row = ir::info(code);
      if (!row.elementwise) continue;
      const Value* like = chance(70) ? recent() : nullptr;
      Type type = like ? like->type : shape();
      if (!like || !ir::in_domain(row.domain, type.element)) type = type.with_element(dtype_in(row.domain));
      if (!ir::can_evaluate(code, type.element) && (type.element == DType::f64 || chance(70))) continue;
      std::vector<Value*> operands;
      for (int i = 0; i < row.min_operands; ++i) operands.push_back(pick(type));
      if (operands.size() == 2 && chance(25)) operands[below(2)] = neutral(type);
      push(build_.value(code, operands));
      return;
    }
  }

  // The same load again, maybe with a store to the same place or a random one between.
  void reload(const Op& op) {
    const Type type = op.result()->type;
    bool read_only = false;
    for (const ir::Parameter& parameter : function_->parameters)
      if (parameter.value == op.operands[0]) read_only = parameter.read_only;
    if (!read_only && chance(60)) {
      std::vector<Value*> operands = {op.operands[0], pick(type)};
      operands.insert(operands.end(), op.operands.begin() + 1,
                      op.operands.begin() + 1 + op.operands[0]->type.rank);
      build_.emit(Opcode::store_view, operands);
    } else if (chance(50)) {
      store_view(value());
    }
    push(build_.emit(Opcode::load_view, op.operands, op.attributes, {type})->result());
  }

  // An op that there is already, or nearly so.
  void again() {
    const Value* model = recent();
    const Op* op = model ? model->definition : nullptr;
    if (op && op->code == Opcode::load_view) return reload(*op);
    if (!op || ir::info(op->code).effect != ir::Effect::pure || op->code == Opcode::dot) return elementwise();
    std::vector<Value*> operands = op->operands;
    if (operands.size() > 1 && ir::info(op->code).elementwise) {
      if (chance(50)) std::swap(operands[0], operands[1]);
      if (chance(30)) operands[0] = pick(operands[0]->type);
    }
    push(build_.emit(op->code, operands, op->attributes, {model->type})->result());
  }

  void cast() {
    Value* from = value();
    push(build_.cast(from, dtype()));
  }

  // The bits of a NaN are open, so none gets here.
  void bitcast() {
    Value* from = value();
    const DType element = from->type.element;
    std::vector<DType> targets;
    for (int i = 0; i < kDTypes; ++i)
      if (bit_width(DType(i)) == bit_width(element) && DType(i) != element) targets.push_back(DType(i));
    if (targets.empty()) return;
    if (is_any_float(element)) {
      Value* wide = is_floating(element) ? from : build_.cast(from, DType::f32);
      Value* nan = build_.value(Opcode::ne, {wide, wide});
      from = build_.value(Opcode::select, {nan, number(from->type, 1), from});
    }
    push(build_.bitcast(from, targets[below(targets.size())]));
  }

  void select() {
    const Type type = value()->type;
    std::vector<Value*> operands = {pick(type.with_element(DType::i1))};
    operands.push_back(pick(type));
    operands.push_back(pick(type));
    push(build_.value(Opcode::select, operands));
  }

  void reshape() {
    Value* from = value();
    const Type& type = from->type;
    switch (below(4)) {
      case 0:
        if (type.rank < 4)
          push(build_.value(Opcode::expand, {from}, {{.value = int64_t(below(uint64_t(type.rank) + 1))}}));
        return;
      case 1:
        for (int axis = 0; axis < type.rank; ++axis)
          if (type.extents[axis].value == 1) {
            push(build_.value(Opcode::squeeze, {from}, {{.value = axis}}));
            return;
          }
        return;
      case 2:
        if (type.rank >= 2) push(build_.value(Opcode::transpose, {from}));
        return;
      default: {
        Type to = type.rank == 0 ? shape(1 + int(below(3))) : type;
        for (int axis = 0; axis < to.rank; ++axis)
          if (to.extents[axis].value == 1 && to.count() < 100) to.extents[axis] = extents_[below(4)];
        push(build_.broadcast(from, to));
      }
    }
  }

  void reduce() {
    Value* from = find(
        [](const Type& type) { return type.rank > 0 && ir::in_domain(ir::Domain::number, type.element); });
    if (!from) return;
    const ir::ReduceKind kind = ir::ReduceKind(below(4));
    push(build_.reduce(from, kind, int(below(from->type.rank))));
  }

  // Float chains start at a load: canonicalise continues chains that start at 0 where they are added.
  void dot() {
    const DType elements[] = {DType::i8, DType::f16, DType::bf16, DType::f32, DType::f32, DType::f64};
    const DType element = elements[below(std::size(elements))];
    Type a = shape(2).with_element(element), b = shape(2).with_element(element);
    b.extents[0] = a.extents[1];
    Type c = b.with_element(ir::accumulator(element));
    c.extents[0] = a.extents[0];
    if (b.count() > 400 || c.count() > 400) return;
    Value* left = pick(a);
    Value* right = pick(b);
    if (chance(15)) return store_view(build_.value(Opcode::dot, {left, right, number(c, 0)}));
    Value* start = is_integer(element) ? pick(c) : load_view(c);
    push(build_.value(Opcode::dot, {left, right, start}));
  }

  void variable() { variables_.push_back(build_.value(Opcode::variable, {value()})); }

  void write_variable() {
    if (variables_.empty()) return variable();
    Value* slot = variables_[below(variables_.size())];
    build_.emit(Opcode::write_variable, {slot, pick(slot->type.with_kind(Type::Kind::data))});
  }

  void read_variable() {
    if (variables_.empty()) return variable();
    push(build_.value(Opcode::read_variable, {variables_[below(variables_.size())]}));
  }

  // Control.

  std::vector<Value*> states() {
    std::vector<Value*> values;
    for (uint64_t i = below(4); i > 0; --i) values.push_back(value());
    return values;
  }

  static std::vector<Type> types(const std::vector<Value*>& values) {
    std::vector<Type> result;
    for (const Value* value : values) result.push_back(value->type);
    return result;
  }

  // A region of `op`, of random statements: `fill` gets the arguments and returns what is yielded.
  template <class Fill>
  void region(Op* op, const std::vector<Type>& arguments, Fill&& fill) {
    Region& outer = build_.region();
    const size_t pool = pool_.size(), variables = variables_.size(), indices = indices_.size();
    Region& inner = *function_->new_region(op);
    build_.set_region(inner);
    ++depth_;
    for (const Type& type : arguments) push(function_->add_argument(inner, type));
    build_.emit(Opcode::yield, fill(inner));
    --depth_;
    build_.set_region(outer);
    pool_.resize(pool), variables_.resize(variables), indices_.resize(indices);
  }

  std::vector<Value*> picks(const std::vector<Type>& wanted) {
    std::vector<Value*> values;
    for (const Type& type : wanted) values.push_back(pick(type));
    return values;
  }

  void for_loop() {
    std::vector<Value*> operands;
    const int64_t step = between(1, 3) * (chance(30) ? -1 : 1);
    switch (below(6)) {
      case 0: {
        Value* upper = build_.value(Opcode::bit_and, {pick(kIndex), build_.index(3)});
        operands = {build_.index(between(-1, 2)), upper, build_.index(1)};
        break;
      }
      case 1: {
        Value* dynamic = build_.value(Opcode::rem, {pick(kIndex), build_.index(3)});
        operands = {build_.index(step < 0 ? 4 : -1), build_.index(2), dynamic};
        break;
      }
      case 2:
        operands = step > 0 ? std::vector{build_.index(kMost - 3), build_.index(kMost), build_.index(step)}
                            : std::vector{build_.index(kLeast + 3), build_.index(kLeast), build_.index(step)};
        break;
      default: {
        Value* lower = build_.index(between(-2, 3));
        operands = {lower, build_.index(between(-2, 4)), build_.index(step)};
      }
    }
    const std::vector<Value*> initial = states();
    operands.insert(operands.end(), initial.begin(), initial.end());
    const std::vector<Type> carried = types(initial);
    Op* loop = build_.emit(Opcode::for_loop, operands, {{.value = chance(20)}}, carried);
    std::vector<Type> arguments = {kIndex};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    region(loop, arguments, [&](Region& inner) {
      indices_.push_back(inner.arguments[0]);
      statements(1 + int(below(5)));
      return picks(carried);
    });
    for (Value* result : loop->results) push(result);
  }

  void branch() {
    std::vector<Type> carried = types(states());
    Op* op = build_.emit(Opcode::if_else, {pick(kCondition)}, {}, carried);
    for (int i = 0; i < 2; ++i)
      region(op, {}, [&](Region&) {
        statements(int(below(4)));
        return picks(carried);
      });
    for (Value* result : op->results) push(result);
  }

  // The first state counts the rounds.
  void while_loop() {
    std::vector<Value*> operands = {build_.index(0)};
    for (Value* state : states()) operands.push_back(state);
    const std::vector<Type> carried = types(operands);
    Op* loop = build_.emit(Opcode::while_loop, operands, {}, carried);
    const auto with_count = [&](Value* count) {
      std::vector<Value*> values = picks(carried);
      values[0] = count;
      return values;
    };
    region(loop, carried, [&](Region& inner) {
      indices_.push_back(inner.arguments[0]);
      statements(int(below(3)));
      Value* again = build_.value(Opcode::lt, {inner.arguments[0], build_.index(between(0, 3))});
      if (chance(40)) {
        Value* other = pick(kCondition);
        again = build_.value(Opcode::bit_and, {again, other});
      }
      std::vector<Value*> yielded = with_count(inner.arguments[0]);
      yielded.insert(yielded.begin(), again);
      return yielded;
    });
    region(loop, carried, [&](Region& inner) {
      indices_.push_back(inner.arguments[0]);
      statements(1 + int(below(4)));
      return with_count(build_.value(Opcode::add, {inner.arguments[0], build_.index(1)}));
    });
    for (Value* result : loop->results) push(result);
  }

  std::mt19937_64 random_;
  std::unique_ptr<ir::Function> function_ = std::make_unique<ir::Function>();
  Builder build_;
  std::vector<HostArgument> arguments_;
  std::vector<Extent> extents_;
  std::vector<Value*> pool_;       // what may be used here: data
  std::vector<Value*> variables_;  // likewise
  std::vector<Value*> indices_;    // small i64 scalars
  int depth_ = 0;
};

}  // namespace

RandomProgram random_program(uint64_t seed) {
  return Generator(seed).run();
}

Seeds seeds_to_run(uint64_t first, uint64_t count) {
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
  };
  return {number("HEDDLE_SEED", first), number("HEDDLE_PROGRAMS", count)};
}

}  // namespace heddle::test
