// dot, from operands in shared memory: by mma.sync where the machine program says so, else by chains of fma.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/llvm/lane_ops.h"
#include "codegen/machine/mma.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using llvm::Value;

namespace {

// One register for each 8 x 8 matrix.
Registers load_matrices(Emitter& e, const SharedAccess& access, const SlotAddresses::Place& from,
                        bool transposed) {
  auto& b = e.builder;
  const int count = access.lanes / 8;
  const std::string text =
      fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [${}+{}];", count,
                  transposed ? ".trans" : "", operand_list(0, count), count, from.offset);
  std::string constraints;
  for (int i = 0; i < count; ++i) constraints += "=r,";
  llvm::Type* type =
      llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(size_t(count), b.getInt32Ty()));
  Value* loaded = e.assembly(text, constraints + "r", type, {from.base}, true);
  Registers words;
  for (int i = 0; i < count; ++i) words.push_back(b.CreateExtractValue(loaded, unsigned(i)));
  return words;
}

// Four bytes from four places, the first lowest.
Value* load_bytes(Emitter& e, const std::vector<SlotAddresses::Place>& from) {
  const std::string text = fmt::format(
      "{{\n\t.reg .b32 %b<4>;\n\tld.shared.u8 %b0, [$1+{}];\n\tld.shared.u8 %b1, [$2+{}];\n\t"
      "ld.shared.u8 %b2, [$3+{}];\n\tld.shared.u8 %b3, [$4+{}];\n\tprmt.b32 %b0, %b0, %b1, 0x0040;\n\t"
      "prmt.b32 %b2, %b2, %b3, 0x0040;\n\tprmt.b32 $0, %b0, %b2, 0x5410;\n\t}}",
      from[0].offset, from[1].offset, from[2].offset, from[3].offset);
  return e.assembly(text, "=r,r,r,r,r", e.builder.getInt32Ty(),
                    {from[0].base, from[1].base, from[2].base, from[3].base}, true);
}

// An operand of an instruction, in shared memory.
class Source {
 public:
  Source(Emitter& e, const Op* op, size_t index, const MmaInstruction& instruction, const Layout& accumulator)
      : e_(e),
        memory_(op->operands[index]),
        fragments_(memory_, instruction, index == 0 ? 1 : 0, accumulator),
        addresses_(e, slot_address(e, memory_, e.scalar(op->operands[index + 1]))) {}

  size_t registers() const { return size_t(fragments_.registers()); }  // of a block
  // The registers of `count` blocks, for the steps of K from `k` on.
  Registers load(int64_t k, int64_t first, int64_t count) {
    const std::vector<SharedAccess> loads = fragments_.loads(k, first, count);
    Registers all;
    if (!fragments_.by_matrices()) {
      for (size_t i = 0; i < loads.size(); i += 4)
        all.push_back(load_bytes(e_, {addresses_[loads[i].address], addresses_[loads[i + 1].address],
                                      addresses_[loads[i + 2].address], addresses_[loads[i + 3].address]}));
      return all;
    }
    for (const SharedAccess& access : loads) {
      const Registers words = load_matrices(e_, access, addresses_[access.address], fragments_.transposed());
      all.insert(all.end(), words.begin(), words.end());
    }
    return all;
  }

 private:
  Emitter& e_;
  BufferLayout memory_;
  Fragments fragments_;
  SlotAddresses addresses_;
};

// What inline PTX calls a register that holds an accumulator's element.
char constraint(DType element) {
  return element == DType::f32 ? 'f' : 'r';
}

void emit_tensor(Emitter& e, const Op* op, const MmaInstruction& instruction) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  Source a_source(e, op, 0, instruction, layout), b_source(e, op, 2, instruction, layout);
  const size_t a_count = a_source.registers(), b_count = b_source.registers(),
               c_count = size_t(instruction.c.register_count());
  const std::string text =
      fmt::format("mma.sync.aligned.{} {}, {}, {}, {};", instruction.name, operand_list(0, c_count),
                  operand_list(c_count, a_count), operand_list(c_count + a_count, b_count),
                  operand_list(c_count + a_count + b_count, c_count));
  const char sum = constraint(result->type.element);
  std::string constraints;
  for (size_t i = 0; i < c_count; ++i) constraints += fmt::format("={},", sum);
  for (size_t i = 0; i < a_count + b_count; ++i) constraints += "r,";
  for (size_t i = 0; i < c_count; ++i) constraints += fmt::format("{}{}", i ? "," : "", sum);
  llvm::Type* sums = llvm::StructType::get(
      b.getContext(), std::vector<llvm::Type*>(c_count, e.element_type(result->type.element)));
  Registers c = e.tiles.at(op->operands[4]);
  const int64_t rows = layout.repeat[0], columns = layout.repeat[1];
  for (int64_t k = 0; k < op->attribute(0); k += instruction.k()) {
    const Registers b_words = b_source.load(k, 0, columns);
    for (int64_t i = 0; i < rows; ++i) {
      const Registers a_words = a_source.load(k, i, 1);
      for (int64_t j = 0; j < columns; ++j) {
        const size_t first = size_t(i * columns + j) * c_count;
        Registers operands(a_words);
        const auto b_first = b_words.begin() + ptrdiff_t(size_t(j) * b_count);
        operands.insert(operands.end(), b_first, b_first + ptrdiff_t(b_count));
        operands.insert(operands.end(), c.begin() + ptrdiff_t(first), c.begin() + ptrdiff_t(first + c_count));
        Value* d = e.assembly(text, constraints, sums, operands, false);
        for (unsigned r = 0; r < c_count; ++r) c[first + r] = b.CreateExtractValue(d, r);
      }
    }
  }
  e.bind(result, std::move(c));
}

// One operand of a chain, for steps of K from a multiple of the chain's block on.
class ChainOperand {
 public:
  // `k`: that multiple, i32; null for 0.
  ChainOperand(Emitter& e, const Op* op, size_t index, Value* k, int64_t block)
      : e_(e),
        memory_(op->operands[index]),
        layout_(e.layout(op->results[0])),
        k_axis_(index == 0 ? 1 : 0),
        element_(op->operands[index]->type.element),
        sum_(op->results[0]->type.element),
        addresses_(addresses(op, index, k, block)) {}

  // Comes to `step` of the block; they are asked for one after another.
  void go_to(int64_t step) {
    const int64_t steps = chain_steps(memory_, k_axis_);
    now_ = size_t(step % steps);
    if (now_ > 0) return;
    columns_.assign(size_t(steps), {});
    for (const ColumnLoad& load : column_loads(memory_, k_axis_, layout_, step)) {
      const Registers zeros(size_t(load.elements * load.steps),
                            llvm::Constant::getNullValue(e_.element_type(element_)));
      const Registers loaded =
          load_packed(e_, addresses_[load.access.address], zeros, element_, /*predicate=*/nullptr);
      for (int64_t i = 0; i < load.elements; ++i)
        for (int64_t s = 0; s < load.steps; ++s)
          columns_[size_t(s)].emplace(load.at + i,
                                      convert(e_, loaded[size_t(i * load.steps + s)], element_, sum_));
    }
  }
  Value* at(int64_t coordinate) const { return columns_[now_].at(coordinate); }

 private:
  SlotAddresses addresses(const Op* op, size_t index, Value* k, int64_t block) {
    auto& b = e_.builder;
    Value* slot = slot_address(e_, memory_, e_.scalar(op->operands[index + 1]));
    if (!k) return {e_, slot};
    const int64_t stride = memory_.stride[size_t(k_axis_)];
    Value* bytes = b.CreateMul(k, e_.i32(stride));
    const Swizzle& swizzle = memory_.swizzle;
    if (!swizzle.bits || !memory_.has_own_bits(k_axis_)) return {e_, b.CreateAdd(slot, bytes)};
    Value* source = b.CreateAnd(b.CreateLShr(bytes, e_.i32(swizzle.from)), e_.i32(swizzle.mask()));
    SlotAddresses::Turn turn{.flips = b.CreateXor(bytes, b.CreateShl(source, e_.i32(swizzle.to))),
                             .possible = {}};
    for (int64_t step = 0; step < op->attribute(0); step += block)
      turn.possible.push_back(swizzle(step * stride));
    return {e_, slot, std::move(turn)};
  }

  Emitter& e_;
  const BufferLayout memory_;
  const Layout& layout_;
  const int k_axis_;
  const DType element_, sum_;
  SlotAddresses addresses_;
  std::vector<std::unordered_map<int64_t, Value*>> columns_;  // by step, by coordinate
  size_t now_ = 0;
};

// c = fma(a, b, c) for k = 0, 1, ...: the definition itself.
void emit_chain(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  const DType type = result->type.element;
  const int64_t extent = op->attribute(0);
  const int64_t block = chain_block(BufferLayout(op->operands[0]), BufferLayout(op->operands[2]), extent);
  Registers c = e.tiles.at(op->operands[4]);
  const auto steps = [&](Value* k) {
    ChainOperand rows(e, op, 0, k, block), columns(e, op, 2, k, block);
    for (int64_t step = 0; step < block; ++step) {
      rows.go_to(step);
      columns.go_to(step);
      for (size_t r = 0; r < c.size(); ++r) {
        const ir::Coordinates place = layout.of_register(int64_t(r));
        Value *x = rows.at(place[0]), *y = columns.at(place[1]);
        c[r] = is_any_float(type) ? fused_multiply_add(e, x, y, c[r]) : b.CreateAdd(b.CreateMul(x, y), c[r]);
      }
    }
  };
  if (block == extent) {
    steps(nullptr);
    e.bind(result, std::move(c));
    return;
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock *body = e.new_block("dot"), *exit = e.new_block("dot_done");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* k = b.CreatePHI(b.getInt32Ty(), 2);
  k->addIncoming(e.i32(0), before);
  std::vector<llvm::PHINode*> phis;
  for (Value*& value : c) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  steps(k);
  Value* next = b.CreateAdd(k, e.i32(block));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  k->addIncoming(next, latch);
  for (size_t r = 0; r < c.size(); ++r) phis[r]->addIncoming(c[r], latch);
  b.CreateCondBr(b.CreateICmpULT(next, e.i32(extent)), body, exit);
  b.SetInsertPoint(exit);
  e.bind(result, std::move(c));
}

}  // namespace

void emit_mma(Emitter& e, const Op* op) {
  if (const MmaInstruction* instruction = mma_of(*op))
    emit_tensor(e, op, *instruction);
  else
    emit_chain(e, op);
}

}  // namespace heddle::codegen::nvptx
