// dot, from operands in shared memory: mma.sync for 16-bit floats, chains of fma for the rest.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/llvm/lane_ops.h"
#include "codegen/machine/natural.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using llvm::Value;

namespace {

// Fragments of mma.m16n8k16 by ldmatrix (PTX ISA, "Warp-level matrix load instruction: ldmatrix"). Each group
// of eight lanes names the rows of one 8 x 8 matrix: lane l the row l % 8 of matrix l / 8. The four matrices
// are those of two blocks along the operand's outer axis (A's M, B's N), `outer_step` apart, and of two along
// K: bit `outer_bit` of the lane chooses the block, the other one of bits 3 and 4 the half of K.
class Fragments {
 public:
  // `k_axis` of the buffer is the dot's K.
  Fragments(Emitter& e, const ir::Value* buffer, Value* slot, int k_axis, Value* warp_offset,
            int64_t outer_step, int outer_bit)
      : e_(e), memory_(buffer), k_axis_(k_axis), transposed_(memory_.fast != k_axis) {
    auto& b = e.builder;
    Value* lane_row = b.CreateAnd(e.thread, e.i32(7));
    Value* block = b.CreateAnd(b.CreateLShr(e.thread, e.i32(outer_bit)), e.i32(1));
    Value* half = b.CreateAnd(b.CreateLShr(e.thread, e.i32(7 - outer_bit)), e.i32(1));
    // Rows run along the slow axis: the outer one if K is fast, else K.
    Value* outer_lane = b.CreateMul(block, e.i32(outer_step));
    Value* k_lane = b.CreateMul(half, e.i32(8));
    (transposed_ ? k_lane : outer_lane) = b.CreateAdd(transposed_ ? k_lane : outer_lane, lane_row);
    outer_lane = b.CreateAdd(outer_lane, warp_offset);
    Value* lane =
        b.CreateAdd(b.CreateMul(outer_lane, e.i32(outer_bytes())), b.CreateMul(k_lane, e.i32(k_bytes())));
    address_ = b.CreatePtrToInt(e.shared_at(b.CreateAdd(lane, memory_.slot_start(e, slot))), b.getInt32Ty());
  }

  // `count` matrices, 4 or 2 (of the first block alone), from these coordinates on.
  std::vector<Value*> load(int64_t outer, int64_t k, int count) {
    auto& b = e_.builder;
    // What is known now goes into the instruction, not into a register.
    const std::string text = fmt::format(
        "ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [${}+{}];", count, transposed_ ? ".trans" : "",
        count == 4 ? "{$0, $1, $2, $3}" : "{$0, $1}", count, outer * outer_bytes() + k * k_bytes());
    const std::string constraints = count == 4 ? "=r,=r,=r,=r,r" : "=r,=r,r";
    llvm::Type* type =
        llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(size_t(count), b.getInt32Ty()));
    Value* loaded = e_.assembly(text, constraints, type, {address_}, true);
    std::vector<Value*> words;
    for (int i = 0; i < count; ++i) words.push_back(b.CreateExtractValue(loaded, unsigned(i)));
    return words;
  }

 private:
  int64_t outer_bytes() const { return memory_.row_stride[size_t(1 - k_axis_)]; }
  int64_t k_bytes() const { return memory_.row_stride[size_t(k_axis_)]; }

  Emitter& e_;
  BufferLayout memory_;
  int k_axis_;
  bool transposed_;
  Value* address_;  // of what this lane names, at coordinates 0
};

void emit_tensor(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  const char* element = op->operands[0]->type.element == DType::f16 ? "f16" : "bf16";
  const std::string text = std::string("mma.sync.aligned.m16n8k16.row.col.f32.") + element + "." + element +
                           ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  const std::string constraints = "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f";
  llvm::Type* four = llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(4, b.getFloatTy()));
  Registers c = e.tiles.at(op->operands[4]);
  const int64_t rows = layout.repeat[0], columns = layout.repeat[1];
  const int64_t row_step = layout.block(0), column_step = layout.block(1);
  Fragments a(e, op->operands[0], e.scalar(op->operands[1]), 1, e.thread_coordinate(layout, 0, true), 8, 3);
  Fragments bs(e, op->operands[2], e.scalar(op->operands[3]), 0, e.thread_coordinate(layout, 1, true),
               column_step, 4);
  for (int64_t k = 0; k < op->attribute(0); k += 16) {
    std::vector<std::vector<Value*>> b_words;
    for (int64_t j = 0; j < columns; j += 2) {
      const int count = j + 1 < columns ? 4 : 2;
      const std::vector<Value*> words = bs.load(j * column_step, k, count);
      b_words.push_back({words[0], words[1]});
      if (count == 4) b_words.push_back({words[2], words[3]});
    }
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<Value*> a_words = a.load(i * row_step, k, 4);
      for (int64_t j = 0; j < columns; ++j) {
        const size_t first = size_t((i * columns + j) * 4);
        std::vector<Value*> operands(a_words);
        operands.insert(operands.end(), b_words[size_t(j)].begin(), b_words[size_t(j)].end());
        operands.insert(operands.end(), c.begin() + ptrdiff_t(first), c.begin() + ptrdiff_t(first + 4));
        Value* d = e.assembly(text, constraints, four, operands, false);
        for (unsigned r = 0; r < 4; ++r) c[first + r] = b.CreateExtractValue(d, r);
      }
    }
  }
  e.bind(result, std::move(c));
}

// Operands of one step of K, by coordinate.
using Column = std::unordered_map<int64_t, Value*>;

Column operand_column(Emitter& e, const ir::Value* buffer, Value* start, const Layout& layout, int axis,
                      int k_axis, Value* k, DType accumulate) {
  auto& b = e.builder;
  const BufferLayout memory(buffer);
  const DType element = buffer->type.element;
  Value* base = b.CreateAdd(start, b.CreateMul(k, e.i32(memory.row_stride[size_t(k_axis)])));
  base = b.CreateAdd(
      base, b.CreateMul(e.thread_coordinate(layout, axis), e.i32(memory.row_stride[size_t(1 - k_axis)])));
  Column column;
  const int64_t width =
      memory.fast == 1 - k_axis ? std::min(layout.vector(axis), 16 / memory.element_bytes) : 1;
  for (int64_t r = 0; r < layout.register_count(); ++r) {
    const int64_t at = layout.of_register(r)[size_t(axis)];
    if (column.count(at)) continue;
    Value* address = e.shared_at(b.CreateAdd(base, e.i32(at * memory.row_stride[size_t(1 - k_axis)])));
    const int64_t count = at % width == 0 ? width : 1;
    const Registers otherwise(size_t(count), llvm::Constant::getNullValue(e.element_type(element)));
    const Registers loaded = load_packed(e, kShared, address, otherwise, element, nullptr);
    for (int64_t i = 0; i < count; ++i)
      column.emplace(at + i, convert(e, loaded[size_t(i)], element, accumulate));
  }
  return column;
}

// c = fma(a, b, c) for k = 0, 1, ...: the definition itself.
void emit_chain(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  const DType type = result->type.element;
  const int64_t extent = op->attribute(0);
  const int64_t unroll = extent % 4 == 0 ? 4 : 1;
  const BufferLayout a_memory(op->operands[0]), b_memory(op->operands[2]);
  Value* a_start = a_memory.slot_start(e, e.scalar(op->operands[1]));
  Value* b_start = b_memory.slot_start(e, e.scalar(op->operands[3]));
  const Registers initial = e.tiles.at(op->operands[4]);

  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock *body = e.new_block("dot"), *exit = e.new_block("dot_done");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* k = b.CreatePHI(b.getInt32Ty(), 2);
  k->addIncoming(e.i32(0), before);
  std::vector<llvm::PHINode*> phis;
  Registers c;
  for (Value* value : initial) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    c.push_back(phis.back());
  }
  for (int64_t step = 0; step < unroll; ++step) {
    Value* at = b.CreateAdd(k, e.i32(step));
    Column rows = operand_column(e, op->operands[0], a_start, layout, 0, 1, at, type);
    Column columns = operand_column(e, op->operands[2], b_start, layout, 1, 0, at, type);
    for (size_t r = 0; r < c.size(); ++r) {
      const ir::Coordinates place = layout.of_register(int64_t(r));
      Value *x = rows.at(place[0]), *y = columns.at(place[1]);
      c[r] = is_any_float(type) ? fused_multiply_add(e, x, y, c[r]) : b.CreateAdd(b.CreateMul(x, y), c[r]);
    }
  }
  Value* next = b.CreateAdd(k, e.i32(unroll));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  k->addIncoming(next, latch);
  for (size_t r = 0; r < c.size(); ++r) phis[r]->addIncoming(c[r], latch);
  b.CreateCondBr(b.CreateICmpULT(next, e.i32(extent)), body, exit);
  b.SetInsertPoint(exit);
  e.bind(result, std::move(c));
}

}  // namespace

void emit_mma(Emitter& e, const Op* op) {
  if (has_mma(op->operands[0]->type.element))
    emit_tensor(e, op);
  else
    emit_chain(e, op);
}

}  // namespace heddle::codegen::nvptx
