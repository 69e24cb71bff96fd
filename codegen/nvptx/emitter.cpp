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

Value* Emitter::thread_value(const ThreadSum& sum) {
  ThreadSum varying = sum;
  varying.constant = 0;
  Value*& known = thread_values_[varying];
  if (!known) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(prologue->getTerminator());
    known = i32(0);
    for (const ThreadSum::Term& term : sum.terms) {
      Value* part = builder.CreateUDiv(builder.CreateAdd(thread, i32(term.ahead)), i32(term.divisor));
      if (term.modulus) part = builder.CreateURem(part, i32(term.modulus));
      known = builder.CreateAdd(known, builder.CreateMul(part, i32(term.factor)));
    }
  }
  return builder.CreateAdd(known, i32(sum.constant));
}

Value* Emitter::thread_value(const SlotAddress& address) {
  Value*& known = thread_addresses_[address];
  if (known) return known;
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  builder.SetInsertPoint(prologue->getTerminator());
  known = thread_value(address.linear);
  if (const Swizzle& swizzle = address.swizzle; swizzle.bits) {
    Value* bits = builder.CreateAnd(builder.CreateLShr(known, i32(swizzle.from)), i32(swizzle.mask()));
    known = builder.CreateXor(known, builder.CreateShl(bits, i32(swizzle.to)));
  }
  return known;
}

Value* Emitter::takes_part(const std::vector<Guard>& guards) {
  Value* all = nullptr;
  for (const Guard& guard : guards) {
    Value* one = builder.CreateICmpULT(thread_value(guard.value), i32(guard.limit));
    all = all ? builder.CreateAnd(all, one) : one;
  }
  return all;
}

Value* Emitter::is_owner(const Layout& layout) {
  return layout.has_copies() ? takes_part({{.value = copies_before(layout), .limit = 1}}) : nullptr;
}

Value* Emitter::shared_at(Value* offset) {
  return builder.CreateAdd(builder.CreatePtrToInt(shared, builder.getInt32Ty()), offset);
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

std::string operand_list(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += fmt::format("{}${}", i ? ", " : "", first + i);
  return count == 1 ? text : "{" + text + "}";
}

Value* Emitter::hidden(Value* pointer) {
  Value* bits = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
  bits = assembly("mov.b64 $0, $1;", "=l,l", builder.getInt64Ty(), {bits}, /*effects=*/false);
  return builder.CreateIntToPtr(bits, builder.getPtrTy(kGlobal));
}

void Emitter::barrier() {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

}  // namespace heddle::codegen::nvptx
