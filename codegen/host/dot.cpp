// dot: operands are packed from their expressions into the order in which the inner loop reads them,
// converted to the accumulator's type on the way; the accumulator stays where it is.
//   A  row-major, rows padded apart
//   B  panels as wide as a register block: [panel][k][lane]
//   C  a scratch tile, row-major
#include "codegen/host/control.h"
#include "codegen/host/evaluate.h"
#include "codegen/host/lane_ops.h"
#include "codegen/host/micro_kernel.h"
#include "codegen/ir/check.h"

namespace heddle::codegen::host {

using ir::Op;
using llvm::Value;

namespace {

struct Packed {
  int64_t offset = 0, bytes = 0;  // bytes 0: nothing of our own
  int64_t row = 0, k = 0;         // strides of A, in elements
  int64_t panel_bytes = 0;        // of B
};

struct Dot {
  Emitter& e;
  const Op* op;
  int64_t m, n, k;
  DType type;  // of the accumulator
  int width;   // lanes of a vector
  BlockShape block;

  int64_t bytes() const { return size_bytes(type); }
  int64_t panel() const { return int64_t(block.vectors) * width; }  // columns
  int64_t panels() const { return n / panel(); }                    // whole ones
  int64_t rest_vectors() const { return (n % panel() + width - 1) / width; }
};

Lanes matrix_lanes(Index row, Index column, int width, int64_t valid) {
  Lanes lanes{
      .rank = 2, .axis = width == 1 ? -1 : 1, .width = width, .valid = int(std::min<int64_t>(width, valid))};
  lanes.index[0] = row;
  lanes.index[1] = column;
  return lanes;
}

void store_packed(const Dot& d, int64_t offset, Value* bytes, DType from, Value* value) {
  auto& b = d.e.here();
  value = convert(d.e, value, from, d.type);
  Value* address = b.CreateInBoundsGEP(b.getInt8Ty(), d.e.scratch_at(offset), bytes);
  b.CreateAlignedStore(value, address, llvm::Align(uint64_t(d.bytes() * d.width)));
}

Packed pack_a(const Dot& d, const Tile& c) {
  Emitter& e = d.e;
  const ir::Value* a = d.op->operands[0];
  if (const auto tile = e.tiles.find(a); tile != e.tiles.end())
    if (a->type.element == d.type && tile->second.offset != c.offset)
      return {.offset = tile->second.offset, .row = tile->second.pitch[0], .k = tile->second.pitch[1]};
  // An odd number of cache lines apart, so that a block's rows fall into different sets.
  const int64_t line = kScratchAlign / d.bytes();
  const int64_t pitch = (round_up(d.k, line) / line | 1) * line;
  Packed packed{.bytes = d.m * pitch * d.bytes(), .row = pitch, .k = 1};
  packed.offset = e.scratch.take(packed.bytes);
  versioned(e, {a}, nullptr, [&] {
    e.loop(0, d.m, 1, [&](Index row) {
      const int width = int(std::min<int64_t>(d.width, power_of_two_at_least(d.k)));
      auto some = [&](Index k, int64_t valid) {
        Value* value = evaluate(e, a, matrix_lanes(row, k, width, valid));
        auto& b = e.here();
        Value* elements = b.CreateAdd(b.CreateMul(row.value, e.index(pitch)), k.value);
        store_packed(d, packed.offset, b.CreateMul(elements, e.index(d.bytes())), a->type.element, value);
      };
      const int64_t whole = d.k / width * width;
      if (whole > 0) e.loop(0, whole, width, [&](Index k) { some(k, width); });
      if (whole < d.k) some({e.index(whole), int(e.levels.size()) - 1}, d.k - whole);
    });
  });
  return packed;
}

Packed pack_b(const Dot& d) {
  Emitter& e = d.e;
  const ir::Value* b_value = d.op->operands[1];
  Packed packed;
  // Panels an odd number of cache lines apart: their rows are written in turn.
  const int64_t lines = round_up(d.k * d.panel() * d.bytes(), kScratchAlign) / kScratchAlign;
  packed.panel_bytes = (lines | 1) * kScratchAlign;
  packed.bytes = packed.panel_bytes * (d.panels() + (d.rest_vectors() ? 1 : 0));
  packed.offset = e.scratch.take(packed.bytes);
  versioned(e, {b_value}, nullptr, [&] {
    e.loop(0, d.k, 1, [&](Index k) {
      auto row = [&](Index panel, int64_t vectors, int64_t columns) {
        for (int64_t v = 0; v < vectors; ++v) {
          auto& b = e.here();
          const int level = int(e.levels.size()) - 1;
          Value* column = b.CreateAdd(b.CreateMul(panel.value, e.index(d.panel())), e.index(v * d.width));
          Value* value =
              evaluate(e, b_value, matrix_lanes(k, {column, level}, d.width, columns - v * d.width));
          e.here();
          Value* lane = b.CreateAdd(b.CreateMul(k.value, e.index(vectors * d.width)), e.index(v * d.width));
          Value* bytes = b.CreateAdd(b.CreateMul(panel.value, e.index(packed.panel_bytes)),
                                     b.CreateMul(lane, e.index(d.bytes())));
          store_packed(d, packed.offset, bytes, b_value->type.element, value);
        }
      };
      if (d.panels() > 0)
        e.loop(0, d.panels(), 1, [&](Index panel) { row(panel, d.block.vectors, d.panel()); });
      if (d.rest_vectors() > 0)
        row({e.index(d.panels()), int(e.levels.size()) - 1}, d.rest_vectors(), d.n % d.panel());
    });
  });
  return packed;
}

// Calls the inner loop for every block of C.
void multiply(const Dot& d, const Packed& a, const Packed& b_packed, const Tile& c) {
  Emitter& e = d.e;
  // Rows in blocks of as equal a size as can be: at most two sizes, one apart.
  const int64_t blocks = (d.m + d.block.rows - 1) / d.block.rows;
  const int64_t rows = d.m / blocks, taller = d.m % blocks;
  auto panel_of = [&](Index panel, int64_t vectors) {
    auto block = [&](int64_t first, int64_t count, int64_t height) {
      if (count == 0) return;
      const MicroKernel shape{.type = d.type,
                              .rows = int(height),
                              .vectors = int(vectors),
                              .width = d.width,
                              .depth = d.k,
                              .a_row = a.row,
                              .a_k = a.k,
                              .b_k = vectors * d.width,
                              .c_row = c.pitch[0]};
      llvm::Function* kernel = micro_kernel(e, shape);
      e.loop(0, count, 1, [&](Index i) {
        auto& b = e.here();
        Value* row = b.CreateAdd(b.CreateMul(i.value, e.index(height)), e.index(first));
        auto address = [&](int64_t offset, Value* bytes) {
          return b.CreateInBoundsGEP(b.getInt8Ty(), e.scratch_at(offset), bytes);
        };
        Value* c_bytes = b.CreateAdd(b.CreateMul(row, e.index(c.pitch[0] * d.bytes())),
                                     b.CreateMul(panel.value, e.index(d.panel() * d.bytes())));
        b.CreateCall(kernel,
                     {address(a.offset, b.CreateMul(row, e.index(a.row * d.bytes()))),
                      address(b_packed.offset, b.CreateMul(panel.value, e.index(b_packed.panel_bytes))),
                      address(c.offset, c_bytes)});
      });
    };
    block(0, taller, rows + 1);
    block(taller * (rows + 1), blocks - taller, rows);
  };
  if (d.panels() > 0) e.loop(0, d.panels(), 1, [&](Index panel) { panel_of(panel, d.block.vectors); });
  if (d.rest_vectors() > 0) panel_of({e.index(d.panels()), 0}, d.rest_vectors());
}

}  // namespace

void emit_dot(Emitter& e, const Op* op) {
  const ir::Type &a = op->operands[0]->type, &c = op->operands[2]->type;
  const DType type = ir::accumulator(a.element);
  const int64_t n = c.extents[1].value;
  const Dot d{.e = e,
              .op = op,
              .m = a.extents[0].value,
              .n = n,
              .k = a.extents[1].value,
              .type = type,
              .width = vector_width(e, size_bytes(type), n),
              .block = block_shape(e.cpu, type)};
  const Tile tile = claim_from(e, op->result(), op->operands[2]);
  const Packed packed_a = pack_a(d, tile);
  const Packed packed_b = pack_b(d);
  assign(e, {{op->operands[2], tile}});
  multiply(d, packed_a, packed_b, tile);
  if (packed_a.bytes) e.scratch.give(packed_a.offset, packed_a.bytes);
  e.scratch.give(packed_b.offset, packed_b.bytes);
}

}  // namespace heddle::codegen::host
