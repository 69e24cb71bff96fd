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

// The words of a fragment: one for each 8 x 8 matrix.
std::vector<Value*> load_matrices(Emitter& e, const SharedAccess& access, const SlotAddresses::Place& from,
                                  bool transposed) {
  auto& b = e.builder;
  const int count = access.lanes / 8;
  const std::string text = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [${}+{}];", count,
                                       transposed ? ".trans" : "",
                                       count == 4 ? "{$0, $1, $2, $3}" : "{$0, $1}", count, from.offset);
  const std::string constraints = count == 4 ? "=r,=r,=r,=r,r" : "=r,=r,r";
  llvm::Type* type =
      llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(size_t(count), b.getInt32Ty()));
  Value* loaded = e.assembly(text, constraints, type, {from.base}, true);
  std::vector<Value*> words;
  for (int i = 0; i < count; ++i) words.push_back(b.CreateExtractValue(loaded, unsigned(i)));
  return words;
}

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
  const BufferLayout a_memory(op->operands[0]), b_memory(op->operands[2]);
  const Fragments a(a_memory, 1, layout), bs(b_memory, 0, layout);
  SlotAddresses a_addresses(e, slot_address(e, a_memory, e.scalar(op->operands[1])));
  SlotAddresses b_addresses(e, slot_address(e, b_memory, e.scalar(op->operands[3])));
  for (int64_t k = 0; k < op->attribute(0); k += 16) {
    std::vector<std::vector<Value*>> b_words;
    for (const SharedAccess& load : bs.loads(k)) {
      const std::vector<Value*> words = load_matrices(e, load, b_addresses[load.address], bs.transposed());
      for (size_t i = 0; i < words.size(); i += 2) b_words.push_back({words[i], words[i + 1]});
    }
    const std::vector<SharedAccess> a_loads = a.loads(k);
    for (int64_t i = 0; i < rows; ++i) {
      const SharedAccess& load = a_loads[size_t(i)];
      const std::vector<Value*> a_words = load_matrices(e, load, a_addresses[load.address], a.transposed());
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

Column operand_column(Emitter& e, const BufferLayout& memory, SlotAddresses& addresses, const Layout& layout,
                      int k_axis, int64_t k, DType element, DType accumulate) {
  Column column;
  for (const ColumnLoad& load : column_loads(memory, k_axis, layout, k)) {
    const Registers zeros(size_t(load.elements), llvm::Constant::getNullValue(e.element_type(element)));
    const Registers loaded = load_packed(e, addresses[load.access.address], zeros, element, nullptr);
    for (int64_t i = 0; i < load.elements; ++i)
      column.emplace(load.at + i, convert(e, loaded[size_t(i)], element, accumulate));
  }
  return column;
}

// c = fma(a, b, c) for k = 0, 1, ...: the definition itself.
void emit_chain(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  const DType type = result->type.element, element = op->operands[0]->type.element;
  const int64_t extent = op->attribute(0);
  const BufferLayout memory[] = {BufferLayout(op->operands[0]), BufferLayout(op->operands[2])};
  const int64_t block = chain_block(memory[0], memory[1], extent);
  Value* const slots[] = {slot_address(e, memory[0], e.scalar(op->operands[1])),
                          slot_address(e, memory[1], e.scalar(op->operands[3]))};
  Registers c = e.tiles.at(op->operands[4]);
  // `block` steps from `k` on, which is i32, or null for the first.
  const auto steps = [&](Value* k) {
    const auto from = [&](int side) {
      return k ? b.CreateAdd(slots[side], b.CreateMul(k, e.i32(memory[side].stride[size_t(1 - side)])))
               : slots[side];
    };
    SlotAddresses row_addresses(e, from(0)), column_addresses(e, from(1));
    for (int64_t step = 0; step < block; ++step) {
      Column rows = operand_column(e, memory[0], row_addresses, layout, 1, step, element, type);
      Column columns = operand_column(e, memory[1], column_addresses, layout, 0, step, element, type);
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
  if (has_mma(op->operands[0]->type.element))
    emit_tensor(e, op);
  else
    emit_chain(e, op);
}

}  // namespace heddle::codegen::nvptx
