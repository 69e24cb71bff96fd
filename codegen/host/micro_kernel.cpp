#include "codegen/host/micro_kernel.h"

#include <llvm/IR/Module.h>

#include <fmt/format.h>

#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using llvm::Value;

namespace {

constexpr int64_t kUnroll = 4;  // steps of k in one turn of the loop

struct Operands {
  Value *a, *b;
};

// One step of k: loads a row of B, and for each row of C broadcasts an element of A.
void step(Emitter& e, const MicroKernel& shape, const Operands& at, int64_t k, std::vector<Value*>& sums) {
  auto& b = e.builder;
  llvm::Type* element = e.element_type(shape.type);
  llvm::Type* vector = e.lanes_type(element, shape.width);
  const int64_t bytes = size_bytes(shape.type);
  auto address = [&](Value* base, int64_t elements) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, uint64_t(elements * bytes));
  };
  std::vector<Value*> row;
  for (int v = 0; v < shape.vectors; ++v)
    row.push_back(b.CreateAlignedLoad(vector, address(at.b, k * shape.b_k + v * shape.width),
                                      llvm::Align(uint64_t(bytes * shape.width))));
  for (int m = 0; m < shape.rows; ++m) {
    Value* one = b.CreateAlignedLoad(element, address(at.a, m * shape.a_row + k * shape.a_k),
                                     llvm::Align(uint64_t(bytes)));
    Value* column = e.splat(one, shape.width);
    for (int v = 0; v < shape.vectors; ++v) {
      Value*& sum = sums[size_t(m * shape.vectors + v)];
      if (is_any_float(shape.type))
        sum = fused_multiply_add(e, column, row[size_t(v)], sum);
      else
        sum = b.CreateAdd(sum, b.CreateMul(column, row[size_t(v)]));
    }
  }
}

void fill_in(Emitter& e, const MicroKernel& shape, llvm::Function* function) {
  auto& b = e.builder;
  llvm::LLVMContext& context = e.module.getContext();
  const int64_t bytes = size_bytes(shape.type);
  llvm::Type* vector = e.lanes_type(e.element_type(shape.type), shape.width);
  const llvm::Align align(uint64_t(bytes * shape.width));
  Value* c = function->getArg(2);
  auto c_address = [&](int i) {
    const int64_t elements = i / shape.vectors * shape.c_row + i % shape.vectors * shape.width;
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), c, uint64_t(elements * bytes));
  };
  llvm::BasicBlock* begin = llvm::BasicBlock::Create(context, "begin", function);
  b.SetInsertPoint(begin);
  const int count = shape.rows * shape.vectors;
  std::vector<Value*> sums;
  for (int i = 0; i < count; ++i) sums.push_back(b.CreateAlignedLoad(vector, c_address(i), align));
  Operands at{function->getArg(0), function->getArg(1)};

  const int64_t turns = shape.depth / kUnroll;
  if (turns > 1) {
    llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "k", function);
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode* turn = b.CreatePHI(b.getInt64Ty(), 2);
    llvm::PHINode* a = b.CreatePHI(b.getPtrTy(), 2);
    llvm::PHINode* row = b.CreatePHI(b.getPtrTy(), 2);
    std::vector<llvm::PHINode*> carried;
    for (Value*& sum : sums) {
      carried.push_back(b.CreatePHI(vector, 2));
      carried.back()->addIncoming(sum, begin);
      sum = carried.back();
    }
    for (int64_t k = 0; k < kUnroll; ++k) step(e, shape, {a, row}, k, sums);
    auto next = [&](llvm::PHINode* phi, Value* first, int64_t elements) {
      Value* moved = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), phi, uint64_t(elements * bytes));
      phi->addIncoming(first, begin);
      phi->addIncoming(moved, loop);
      return moved;
    };
    at = {next(a, at.a, kUnroll * shape.a_k), next(row, at.b, kUnroll * shape.b_k)};
    Value* left = b.CreateSub(turn, e.index(1));
    turn->addIncoming(e.index(turns), begin);
    turn->addIncoming(left, loop);
    for (size_t i = 0; i < sums.size(); ++i) carried[i]->addIncoming(sums[i], loop);
    llvm::BasicBlock* end = llvm::BasicBlock::Create(context, "end", function);
    b.CreateCondBr(b.CreateICmpNE(left, e.index(0)), loop, end);
    b.SetInsertPoint(end);
    for (int64_t k = 0; k < shape.depth % kUnroll; ++k) step(e, shape, at, k, sums);
  } else {
    for (int64_t k = 0; k < shape.depth; ++k) step(e, shape, at, k, sums);
  }
  for (int i = 0; i < count; ++i) b.CreateAlignedStore(sums[size_t(i)], c_address(i), align);
  b.CreateRetVoid();
}

}  // namespace

BlockShape block_shape(const Cpu& cpu, DType type) {
  // Emulated fma needs the registers for itself.
  if (is_any_float(type) && !cpu.fma) return {2, 1};
  // Accumulators, a row of B in two vectors, and the broadcast.
  return {cpu.vector_registers >= 32 ? 12 : 6, 2};
}

llvm::Function* micro_kernel(Emitter& e, const MicroKernel& shape) {
  const std::string name =
      fmt::format("block_{}_{}x{}x{}_{}_{}_{}_{}_{}", heddle::to_string(shape.type), shape.rows,
                  shape.vectors, shape.width, shape.depth, shape.a_row, shape.a_k, shape.b_k, shape.c_row);
  llvm::Function*& function = e.kernels[name];
  if (function) return function;
  auto& b = e.builder;
  function = e.new_function(name, {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()});
  function->addFnAttr(llvm::Attribute::NoInline);
  for (unsigned i : {0u, 1u}) function->addParamAttr(i, llvm::Attribute::NoAlias);
  function->addParamAttr(2, llvm::Attribute::NoAlias);
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  fill_in(e, shape, function);
  return function;
}

}  // namespace heddle::codegen::host
