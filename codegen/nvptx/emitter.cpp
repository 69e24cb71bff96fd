#include "codegen/nvptx/emitter.h"

#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace heddle::codegen::nvptx {

using ir::Layout;
using llvm::Value;

Emitter::Emitter(const ir::Function& function, llvm::Module& module)
    : LaneBuilder(module, {.fma = true, .half = true, .half_arithmetic = true, .bf16 = true, .round = true}),
      function(function) {}

Registers Emitter::registers(const ir::Value* value) const {
  if (is_tile(value)) return tiles.at(value);
  return {scalars.at(value)};
}

void Emitter::bind(const ir::Value* value, Registers registers) {
  if (is_tile(value))
    tiles[value] = std::move(registers);
  else
    scalars[value] = registers.at(0);
}

llvm::Type* Emitter::register_type(const ir::Type& type) {
  return type.kind == ir::Type::Kind::pointer ? builder.getPtrTy(kGlobal) : element_type(type.element);
}

llvm::BasicBlock* Emitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(module.getContext(), name, entry);
}

Value* Emitter::thread_coordinate(const Layout& layout, int axis, bool warps_only) {
  std::vector<Layout::Bit> bits = layout.lanes;
  bits.insert(bits.end(), layout.warps.begin(), layout.warps.end());
  // Runs of neighbouring thread bits that move neighbouring coordinate bits: one shift and mask each.
  std::string key = warps_only ? "w" : "t";
  struct Run {
    int from, to, count;
  };
  std::vector<Run> runs;
  for (int i = warps_only ? Layout::kLaneBits : 0; i < int(bits.size()); ++i) {
    if (bits[size_t(i)].axis != axis) continue;
    const int shift = bits[size_t(i)].shift;
    if (!runs.empty() && runs.back().from + runs.back().count == i &&
        runs.back().to + runs.back().count == shift)
      ++runs.back().count;
    else
      runs.push_back({i, shift, 1});
    key += fmt::format(" {}.{}", i, shift);
  }
  Value*& known = coordinates_[key];
  if (known) return known;
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  builder.SetInsertPoint(prologue->getTerminator());
  Value* sum = i32(0);
  for (const Run& run : runs) {
    Value* part =
        builder.CreateAnd(builder.CreateLShr(thread, i32(run.from)), i32((int64_t(1) << run.count) - 1));
    sum = builder.CreateOr(sum, builder.CreateShl(part, i32(run.to)));
  }
  return known = sum;
}

Value* Emitter::is_owner(const Layout& layout) {
  uint32_t copies = 0;
  int bit = 0;
  for (const std::vector<Layout::Bit>* bits : {&layout.lanes, &layout.warps})
    for (const Layout::Bit& next : *bits) copies |= uint32_t(next.axis < 0) << bit++;
  if (!copies) return nullptr;
  return builder.CreateICmpEQ(builder.CreateAnd(thread, i32(copies)), i32(0));
}

Value* Emitter::shared_at(Value* offset) {
  return builder.CreateGEP(builder.getInt8Ty(), shared, offset);
}

Value* Emitter::assembly(const std::string& text, const std::string& constraints, llvm::Type* result,
                         const std::vector<Value*>& operands, bool effects) {
  std::vector<llvm::Type*> types;
  for (const Value* operand : operands) types.push_back(operand->getType());
  llvm::FunctionType* type = llvm::FunctionType::get(result, types, false);
  llvm::InlineAsm* code = llvm::InlineAsm::get(type, text, effects ? constraints + ",~{memory}" : constraints,
                                               /*hasSideEffects=*/effects);
  llvm::CallInst* call = builder.CreateCall(type, code, operands);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (!effects) call->setDoesNotAccessMemory();
  return call;
}

void Emitter::barrier() {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

}  // namespace heddle::codegen::nvptx
