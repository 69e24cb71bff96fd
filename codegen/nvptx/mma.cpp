// dot, from operands in shared memory: by mma.sync where the machine program says so, else by chains of fma.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <span>

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
  // `op` has the buffer at operand `index`, then its slot; `accumulator` is the layout of the result, or of
  // the fragments.
  Source(Emitter& e, const Op* op, size_t index, int k_axis, const MmaInstruction& instruction,
         const Layout& accumulator)
      : e_(e),
        memory_(op->operands[index]),
        fragments_(memory_, instruction, k_axis, accumulator),
        addresses_(e, slot_address(e, memory_, e.scalar(op->operands[index + 1]))) {}

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

// An instruction on some of a tile's blocks.
class Multiply {
 public:
  Multiply(Emitter& e, const MmaInstruction& instruction, DType sum)
      : e_(e),
        a_count_(size_t(fragment_words(instruction, 1, instruction.c).register_count())),
        b_count_(size_t(fragment_words(instruction, 0, instruction.c).register_count())),
        c_count_(size_t(instruction.c.register_count())) {
    text_ = fmt::format("mma.sync.aligned.{} {}, {}, {}, {};", instruction.name, operand_list(0, c_count_),
                        operand_list(c_count_, a_count_), operand_list(c_count_ + a_count_, b_count_),
                        operand_list(c_count_ + a_count_ + b_count_, c_count_));
    for (size_t i = 0; i < c_count_; ++i) constraints_ += fmt::format("={},", constraint(sum));
    for (size_t i = 0; i < a_count_ + b_count_; ++i) constraints_ += "r,";
    for (size_t i = 0; i < c_count_; ++i) constraints_ += fmt::format("{}{}", i ? "," : "", constraint(sum));
    sums_ = llvm::StructType::get(e.builder.getContext(),
                                  std::vector<llvm::Type*>(c_count_, e.element_type(sum)));
  }

  // Row `row` of blocks of `c`, from a's words of that row and all of b's.
  void operator()(std::span<Value* const> a, std::span<Value* const> b, size_t row, Registers& c) const {
    const size_t columns = b.size() / b_count_;
    for (size_t column = 0; column < columns; ++column) {
      const size_t first = (row * columns + column) * c_count_;
      const auto b_words = b.subspan(column * b_count_, b_count_);
      const auto sums = std::span(c).subspan(first, c_count_);
      Registers operands(a.begin(), a.end());
      operands.insert(operands.end(), b_words.begin(), b_words.end());
      operands.insert(operands.end(), sums.begin(), sums.end());
      Value* d = e_.assembly(text_, constraints_, sums_, operands, false);
      for (unsigned r = 0; r < c_count_; ++r) sums[r] = e_.builder.CreateExtractValue(d, r);
    }
  }
  size_t a_count() const { return a_count_; }

 private:
  Emitter& e_;
  const size_t a_count_, b_count_, c_count_;
  std::string text_, constraints_;
  llvm::Type* sums_;
};

void emit_tensor(Emitter& e, const Op* op, const MmaInstruction& instruction) {
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  Source a(e, op, 0, 1, instruction, layout), b(e, op, 2, 0, instruction, layout);
  const Multiply multiply(e, instruction, result->type.element);
  Registers c = e.tiles.at(op->operands[4]);
  for (int64_t k = 0; k < op->attribute(0); k += instruction.k()) {
    const Registers b_words = b.load(k, 0, layout.repeat[1]);
    for (int64_t row = 0; row < layout.repeat[0]; ++row) multiply(a.load(k, row, 1), b_words, size_t(row), c);
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

void emit_load_fragments(Emitter& e, const Op* op) {
  const ir::Value* words = op->results[0];
  const Layout& layout = e.layout(words);
  const int k_axis = int(op->attribute(2));
  Source source(e, op, 0, k_axis, *mma_of(*op), layout);
  e.bind(words, source.load(op->attribute(0), 0, layout.repeat[size_t(1 - k_axis)]));
}

void emit_mma_fragments(Emitter& e, const Op* op) {
  const ir::Value* result = op->results[0];
  const Multiply multiply(e, *mma_of(*op), result->type.element);
  const std::span<Value* const> a = e.tiles.at(op->operands[0]), b = e.tiles.at(op->operands[1]);
  Registers c = e.tiles.at(op->operands[2]);
  for (size_t row = 0; row * multiply.a_count() < a.size(); ++row)
    multiply(a.subspan(row * multiply.a_count(), multiply.a_count()), b, row, c);
  e.bind(result, std::move(c));
}

}  // namespace heddle::codegen::nvptx
