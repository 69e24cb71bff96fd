// Recorder: handles, open regions, dims.
#include "dsl/recorder.h"

#include <atomic>
#include <string_view>

#include "codegen/ir/check.h"
#include "codegen/ir/fail.h"

namespace heddle::record {

namespace {

thread_local Recorder* current_recorder = nullptr;

// Traces are numbered over the whole process, so a handle from any other trace is told apart. 0 means none.
uint32_t next_trace() {
  static std::atomic<uint32_t> last{0};
  uint32_t trace = ++last;
  while (trace == 0) trace = ++last;
  return trace;
}

std::string place(Location where) {
  return where.known() ? fmt::format("{}:{}", where.file, where.line) : std::string("an unknown line");
}

const char* name_of(const ir::Op* op) {
  switch (op->code) {
    case ir::Opcode::for_loop: return "loop";
    case ir::Opcode::while_loop: return "while_";
    default: return "when";
  }
}

}  // namespace

Recorder::Recorder(const runtime::KernelSource& source, const runtime::TraceRequest& request,
                   const Parameter* parameters, int count)
    : source_(source),
      request_(request),
      trace_(next_trace()),
      function_(std::make_unique<ir::Function>()),
      builder_(*function_, function_->body) {
  check_bindings();
  builder_.blame = ErrorKind::trace;
  function_->name = source.name;
  open_.push_back({.id = 0, .op = nullptr, .region = &function_->body});
  for (int i = 0; i < count; ++i) {
    const Parameter& parameter = parameters[i];
    ir::Type type{.element = parameter.element, .rank = uint8_t(parameter.rank)};
    switch (parameter.kind) {
      case Parameter::Kind::pointer: type.kind = ir::Type::Kind::pointer; break;
      case Parameter::Kind::view: type.kind = ir::Type::Kind::view; break;
      case Parameter::Kind::scalar: type.kind = ir::Type::Kind::data; break;
    }
    ir::Facts facts;
    if (request.facts && parameter.kind != Parameter::Kind::scalar)
      facts = {.unit_stride_axis = request.facts[i].unit_stride_axis,
               .aligned16 = request.facts[i].aligned16};
    const bool read_only = parameter.read_only && parameter.kind != Parameter::Kind::scalar;
    values_.push_back(function_->add_parameter(type, read_only, facts).value);
  }
}

Recorder* Recorder::current_or_null() {
  return current_recorder;
}

Recorder& Recorder::current(Location where) {
  if (!current_recorder)
    fail(ErrorKind::trace, where,
         "no kernel is being traced on this thread: tile operations have a meaning only in the body of a "
         "heddle::Kernel, while it is traced, on the thread that traces it");
  current_recorder->check_abandoned();
  return *current_recorder;
}

void Recorder::check_abandoned() const {
  if (is_abandoned_)
    fail(ErrorKind::trace, abandoned_,
         "this loop, when or while_ was left by break, return, goto or an exception. Its body is recorded "
         "once and "
         "must run to its end: use when(...) for what happens only sometimes, and while_ for a loop that "
         "ends early");
}

ir::Value* Recorder::value(Handle handle, Location use) const {
  if (trace_of(handle) != trace_ || id_of(handle) >= values_.size())
    fail(ErrorKind::trace, use,
         "a value used here belongs to another kernel's trace, or to one that has ended: tiles and Vars live "
         "only in "
         "the body that made them");
  ir::Value* value = values_[id_of(handle)];
  if (!ir::is_inside(open_.back().region, ir::home(value))) report_outside(*value, use);
  return value;
}

void Recorder::report_outside(const ir::Value& value, Location use) const {
  const ir::Op* scope = ir::home(&value)->parent;
  const Location made = value.definition ? value.definition->where : scope->where;
  if (value.type.kind == ir::Type::Kind::variable)
    fail(ErrorKind::trace, use,
         "the Var declared at {} lives inside the {} at {} and is used outside of it: declare it before",
         place(made), name_of(scope), place(scope->where));
  fail(ErrorKind::trace, use,
       "the value made at {} lives inside the {} at {} and is used outside of it: carry it out in a Var that "
       "is "
       "declared before",
       place(made), name_of(scope), place(scope->where));
}

Handle Recorder::handle(ir::Value* value) {
  values_.push_back(value);
  return make_handle(uint32_t(values_.size() - 1), trace_);
}

ir::Builder& Recorder::builder(Location where) {
  builder_.where = where;
  return builder_;
}

// ---- Dims

Location Recorder::schedule_line(const DimBinding& binding) const {
  return binding.where.known() ? binding.where : request_.schedule_where;
}

void Recorder::check_bindings() const {
  const Dims& dims = *request_.dims;
  if (dims.count > Dims::kMax)
    fail(ErrorKind::schedule, request_.schedule_where,
         "kernel '{}': the schedule binds {} dims, and at most {} can be", source_.name, dims.count,
         Dims::kMax);
  for (int i = 0; i < dims.count; ++i) {
    const DimBinding& binding = dims.bindings[i];
    if (binding.value < 1 || binding.value > kMaxLanes)
      fail(ErrorKind::schedule, schedule_line(binding),
           "{} = {} is no extent of a tile: bind it between 1 and {}", binding.name, binding.value,
           kMaxLanes);
    for (int k = 0; k < i; ++k)
      if (std::string_view(dims.bindings[k].name) == binding.name)
        fail(ErrorKind::schedule, schedule_line(binding), "{} is bound twice: to {} here and to {} at {}",
             binding.name, binding.value, dims.bindings[k].value, place(schedule_line(dims.bindings[k])));
  }
}

void Recorder::check_unused() const {
  for (int i = 0; i < request_.dims->count; ++i) {
    const DimBinding& binding = request_.dims->bindings[i];
    bool used = false;
    std::string names;
    for (const ir::Dim& dim : function_->dims) {
      used |= dim.name == binding.name;
      names += (names.empty() ? "" : ", ") + dim.name;
    }
    if (!used)
      fail(ErrorKind::schedule, schedule_line(binding),
           "the schedule binds {} = {}, but kernel '{}' ({}) has no such dim; it has {}", binding.name,
           binding.value, source_.name, place(source_.where), names.empty() ? "none" : names);
  }
}

ir::Extent Recorder::dim(const char* name, Location use) {
  std::vector<ir::Dim>& dims = function_->dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name) return {.value = dims[i].value, .dim = int32_t(i)};
  int64_t value = request_.unbound_dim_value;
  bool bound = value > 0;
  std::string names;
  for (int i = 0; i < request_.dims->count; ++i) {
    const DimBinding& binding = request_.dims->bindings[i];
    if (std::string_view(binding.name) == name) value = binding.value, bound = true;
    names += fmt::format("{}{} = {}", names.empty() ? "" : ", ", binding.name, binding.value);
  }
  if (!bound)
    fail(
        ErrorKind::schedule, use,
        "kernel '{}' uses {}, which the schedule at {} does not bind (it binds {}): add {} = ... to its dims",
        source_.name, name, place(request_.schedule_where), names.empty() ? "nothing" : names, name);
  dims.push_back({.name = name, .value = value});
  return {.value = value, .dim = int32_t(dims.size() - 1)};
}

ir::Extent Recorder::extent(const Extent& extent, Location use) {
  if (extent.dim) return dim(extent.dim, use);
  return {.value = extent.value};
}

ir::Type Recorder::tile(DType element, const Shape& shape, Location use) {
  ir::Type type{.kind = ir::Type::Kind::data, .element = element, .rank = uint8_t(shape.rank)};
  for (int i = 0; i < shape.rank; ++i) type.extents[i] = extent(shape.extents[i], use);
  return limited(type, use);
}

const ir::Type& Recorder::limited(const ir::Type& type, Location use) const {
  int64_t lanes = 1;
  for (int i = 0; i < type.rank && lanes <= kMaxLanes; ++i)
    lanes = type.extents[i].value > kMaxLanes ? kMaxLanes + 1 : lanes * type.extents[i].value;
  if (lanes > kMaxLanes) {
    std::string extents;
    for (int i = 0; i < type.rank; ++i) extents += fmt::format("{}{}", i ? " x " : "", type.extents[i].value);
    fail(ErrorKind::trace, use, "a tile of {} elements is too large: a tile has at most {}", extents,
         kMaxLanes);
  }
  return type;
}

// ---- Regions

uint32_t Recorder::open(ir::Op* op, ir::Region* region) {
  if (open_.size() > size_t(ir::kMaxRegionDepth))
    fail(ErrorKind::trace, op->where,
         "loops and branches nest more than {} deep here; fold their conditions into masks or one condition",
         ir::kMaxRegionDepth);
  open_.push_back({.id = next_region_++, .op = op, .region = region});
  builder_.set_region(*region);
  return open_.back().id;
}

void Recorder::close(Handle scope) {
  check_abandoned();
  const OpenRegion closing = open_.back();
  if (trace_of(scope) != trace_ || id_of(scope) != closing.id)
    fail(ErrorKind::trace, closing.op ? closing.op->where : source_.where,
         "a loop or branch ended before one that started inside it: each must end where it began");
  builder(closing.op->where).emit(ir::Opcode::yield, {});
  open_.pop_back();
  builder_.set_region(*open_.back().region);
  if (const std::string message = ir::check(*closing.op); !message.empty())
    fail(ErrorKind::internal, closing.op->where, "{}", message);
}

void Recorder::abandon(Handle scope) noexcept {
  if (trace_of(scope) != trace_) return;
  while (open_.size() > 1 && open_.back().id >= id_of(scope)) {
    if (!is_abandoned_) abandoned_ = open_.back().op->where;
    is_abandoned_ = true;
    open_.pop_back();
    builder_.set_region(*open_.back().region);
  }
}

void Recorder::turn(Handle scope, ir::Region* region) {
  OpenRegion& top = open_.back();
  if (trace_of(scope) != trace_ || id_of(scope) != top.id)
    fail(ErrorKind::trace, top.op ? top.op->where : source_.where,
         "a while_'s condition left a loop open: each must end where it began");
  top.region = region;
  builder_.set_region(*region);
}

uint32_t Recorder::add_branch(ir::Op* op) {
  branches_.push_back({.op = op, .taken = false});
  return uint32_t(branches_.size() - 1);
}

ir::Op* Recorder::take_branch(uint32_t branch, Location where) {
  Branch& found = branches_[branch];
  const std::vector<ir::Op*>& ops = open_.back().region->ops;
  if (found.taken || ops.empty() || ops.back() != found.op)
    fail(ErrorKind::trace, where, "otherwise() follows its when(...), the one at {}, directly and once",
         place(found.op->where));
  found.taken = true;
  return found.op;
}

void Recorder::claim_work_space(Location where) {
  if (work_space_.known())
    fail(ErrorKind::trace, where, "a kernel has one work space, and tile_id was called before, at {}",
         place(work_space_));
  if (open_.size() > 1)
    fail(ErrorKind::trace, where,
         "tile_id stands outside of loops and branches: it says which tile this whole run of the kernel is "
         "for, and "
         "this one is inside the {} at {}",
         name_of(open_.back().op), place(open_.back().op->where));
  work_space_ = where;
}

std::unique_ptr<ir::Function> Recorder::finish() {
  check_abandoned();
  if (open_.size() > 1)
    fail(ErrorKind::trace, open_.back().op->where, "the kernel's body ended inside this {}",
         name_of(open_.back().op));
  check_unused();
  return std::move(function_);
}

// ---- The seam's own objects

void Scope::close() {
  open_ = false;
  Recorder* recorder = Recorder::current_or_null();
  if (!recorder)
    fail(ErrorKind::trace, {}, "a loop or branch of a kernel ended after the kernel's trace did");
  recorder->close(handle_);
}

void Scope::abandon() noexcept {
  if (Recorder* recorder = Recorder::current_or_null()) recorder->abandon(handle_);
}

Trace::Trace(const runtime::KernelSource& source, const runtime::TraceRequest& request,
             const Parameter* parameters, int count) {
  check_launch(source.name, Where{});
  recorder_ = new Recorder(source, request, parameters, count);
  trace_ = recorder_->trace();
  current_recorder = recorder_;
}

Trace::~Trace() {
  current_recorder = nullptr;
  delete recorder_;
}

ir::Function* Trace::finish() {
  return recorder_->finish().release();
}

void check_launch(const char* kernel, Where where) {
  if (current_recorder)
    fail(ErrorKind::trace, where,
         "kernel '{}' is called from the body of another kernel. A body is recorded, so it can't launch: "
         "call a plain "
         "C++ function that takes tiles",
         kernel);
}

}  // namespace heddle::record
