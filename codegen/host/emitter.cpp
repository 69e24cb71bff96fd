#include "codegen/host/emitter.h"

#include <llvm/IR/Module.h>

#include <algorithm>

namespace heddle::codegen::host {

int Lanes::level() const {
  int deepest = 0;
  for (int i = 0; i < rank; ++i) deepest = std::max(deepest, index[i].level);
  return deepest;
}

size_t Level::Hash::operator()(const Key& key) const {
  size_t hash = reinterpret_cast<size_t>(key.what);
  auto mix = [&](size_t part) { hash = (hash ^ part) * 0x9e3779b97f4a7c15u; };
  for (const void* index : key.index) mix(reinterpret_cast<size_t>(index));
  mix(size_t(key.axis + 1) << 32 | size_t(key.width) << 16 | size_t(key.valid));
  return hash;
}

Emitter::Emitter(const ir::Function& function, const Cpu& cpu, llvm::Module& module)
    : LaneBuilder(module, {.fma = cpu.fma, .half = cpu.half, .round = cpu.round}),
      function(function),
      cpu(cpu),
      plan(function) {}

llvm::IRBuilder<>& Emitter::at(int level) {
  builder.SetInsertPoint(levels[level].block);
  return builder;
}

void Emitter::forget() {
  for (Level& level : levels) level.memo.clear();
}

llvm::BasicBlock* Emitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(module.getContext(), name, entry);
}

llvm::Function* Emitter::new_function(const std::string& name, const std::vector<llvm::Type*>& parameters) {
  llvm::FunctionType* type = llvm::FunctionType::get(builder.getVoidTy(), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::PrivateLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  // Tiles of pointers that were kept in memory are offsets from null (pointer_access).
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function->addFnAttr("target-cpu", cpu.name);
  function->addFnAttr("target-features", cpu.features);
  // Some processors are described as preferring half their vectors' width.
  const std::string bits = std::to_string(cpu.vector_bytes * 8);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
#ifdef HEDDLE_TSAN
  function->addFnAttr(llvm::Attribute::SanitizeThread);
#endif
  return function;
}

llvm::Type* Emitter::scalar_type(const ir::Type& type) {
  return type.kind == ir::Type::Kind::pointer ? builder.getPtrTy() : element_type(type.element);
}

llvm::Type* Emitter::lanes_type(llvm::Type* element, int width) {
  if (width == 1) return element;
  return llvm::FixedVectorType::get(element, unsigned(width));
}

llvm::Value* Emitter::splat(llvm::Value* value, int width) {
  return width == 1 ? value : builder.CreateVectorSplat(unsigned(width), value);
}

llvm::Constant* Emitter::lane_numbers(int width) {
  if (width == 1) return index(0);
  std::vector<uint64_t> numbers(static_cast<size_t>(width));
  for (int i = 0; i < width; ++i) numbers[size_t(i)] = uint64_t(i);
  return llvm::ConstantDataVector::get(module.getContext(), numbers);
}

void Emitter::loop(int64_t begin, int64_t end, int64_t step, const std::function<void(Index)>& body) {
  const int outer = int(levels.size()) - 1;
  if (begin + step >= end) {
    body({index(begin), outer});
    return;
  }
  llvm::BasicBlock* block = new_block("loop");
  levels.push_back({.block = block, .memo = {}});
  llvm::PHINode* counter = at(outer + 1).CreatePHI(builder.getInt64Ty(), 2);
  body({counter, outer + 1});
  llvm::IRBuilder<>& latch = at(outer + 1);
  llvm::Value* next = latch.CreateAdd(counter, index(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
  llvm::BasicBlock* exit = new_block("done");
  latch.CreateCondBr(latch.CreateICmpULT(next, index(end)), block, exit);
  counter->addIncoming(next, latch.GetInsertBlock());
  levels.pop_back();
  at(outer).CreateBr(block);
  counter->addIncoming(index(begin), levels[outer].block);
  levels[outer].block = exit;
  at(outer);
}

Tile Emitter::allocate(const ir::Type& type) {
  Tile tile = tile_layout(type);
  tile.offset = scratch.take(tile.bytes);
  return tile;
}

llvm::Value* Emitter::scratch_at(int64_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), scratch_base, uint64_t(offset));
}

int vector_width(const Emitter& e, int lane_bytes, int64_t extent) {
  return int(std::min<int64_t>(e.cpu.vector_bytes / lane_bytes, power_of_two_at_least(extent)));
}

int inner_axis(const ir::Type& type) {
  for (int axis = type.rank - 1; axis >= 0; --axis)
    if (type.extents[axis].value > 1) return axis;
  return -1;
}

void for_each_lanes(Emitter& e, const ir::Type& type, int axis, int lane_bytes,
                    const std::function<void(const Lanes&)>& body) {
  Lanes lanes{.rank = type.rank, .axis = axis};
  for (Index& index : lanes.index) index = {e.index(0), 0};
  const std::function<void(int)> outer = [&](int next) {
    while (next < type.rank && (next == axis || type.extents[next].value == 1)) ++next;
    if (next < type.rank) {
      e.loop(0, type.extents[next].value, 1, [&](Index index) {
        lanes.index[next] = index;
        outer(next + 1);
      });
      return;
    }
    if (axis < 0) return body(lanes);
    const int64_t extent = type.extents[axis].value;
    const int width = vector_width(e, lane_bytes, extent);
    const int64_t whole = extent / width * width;
    if (width == 1) lanes.axis = -1;
    lanes.width = lanes.valid = width;
    if (whole > 0)
      e.loop(0, whole, width, [&](Index index) {
        lanes.index[axis] = index;
        body(lanes);
      });
    if (whole < extent) {
      lanes.index[axis] = {e.index(whole), int(e.levels.size()) - 1};
      lanes.valid = int(extent - whole);
      body(lanes);
    }
  };
  outer(0);
}

void versioned(Emitter& e, const std::vector<const ir::Value*>& values, llvm::Value* also_inside,
               const std::function<void()>& nest) {
  llvm::Value* inside = also_inside;
  for (const ir::Value* value : values)
    for (const Plan::Leaf& leaf : e.plan.leaves(value))
      if (e.tiles.count(leaf.value) == 0 && leaf.value->definition &&
          leaf.value->definition->code == ir::Opcode::load_view) {
        llvm::Value* window = e.windows.at(leaf.value->definition).inside;
        inside = inside ? e.here().CreateAnd(inside, window) : window;
      }
  e.forget();
  if (!inside) {
    nest();
    e.forget();
    return;
  }
  llvm::BasicBlock* common = e.new_block("inside");
  llvm::BasicBlock* clipped = e.new_block("clipped");
  llvm::BasicBlock* join = e.new_block("join");
  e.here().CreateCondBr(inside, common, clipped);
  for (const bool all_inside : {true, false}) {
    e.levels.back().block = all_inside ? common : clipped;
    e.all_inside = all_inside;
    e.forget();
    nest();
    e.here().CreateBr(join);
  }
  e.all_inside = false;
  e.levels.back().block = join;
  e.forget();
  e.here();
}

}  // namespace heddle::codegen::host
