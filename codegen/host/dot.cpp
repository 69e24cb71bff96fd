// dot: operands are packed from their expressions into the order in which the inner loop reads them,
// converted to the accumulator's type on the way; the accumulator stays where it is.
//   A  row-major, rows padded apart
//   B  panels as wide as a register block: [panel][k][lane]
//   C  a scratch tile, row-major
#include "codegen/host/control.h"
#include "codegen/host/evaluate.h"
#include "codegen/host/micro_kernel.h"
#include "codegen/ir/check.h"
#include "codegen/llvm/lane_ops.h"

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

// Bytes into packed memory; `value` is converted already.
void store_packed(const Dot& d, int64_t offset, Value* bytes, Value* value) {
  auto& b = d.e.here();
  Value* address = b.CreateInBoundsGEP(b.getInt8Ty(), d.e.scratch_at(offset), bytes);
  b.CreateAlignedStore(value, address, llvm::Align(uint64_t(d.bytes() * d.width)));
}

// body(first, how many) for whole steps along an extent, in a loop, then for the rest.
void in_steps(Emitter& e, int64_t extent, int64_t step, const std::function<void(Index, int64_t)>& body) {
  const int64_t whole = extent / step * step;
  if (whole > 0) e.loop(0, whole, step, [&](Index i) { body(i, step); });
  if (whole < extent) body({e.index(whole), int(e.levels.size()) - 1}, extent - whole);
}

// The axis along which an operand's memory is contiguous, as far as facts tell; else the last.
int contiguous_axis(const Emitter& e, const ir::Value* value) {
  const Op* op = value->definition;
  if (value->type.rank != 2 || !op || e.tiles.count(value)) return 1;
  if (op->code == ir::Opcode::load_view) {
    for (const ir::Parameter& parameter : e.function.parameters)
      if (parameter.value == op->operands[0] && parameter.facts.unit_stride_axis >= 0)
        return parameter.facts.unit_stride_axis == parameter.value->type.rank - 2 ? 0 : 1;
    return 1;
  }
  if (op->code == ir::Opcode::transpose) return 1 - contiguous_axis(e, op->operands[0]);
  if (!ir::info(op->code).elementwise && op->code != ir::Opcode::cast) return 1;
  for (const ir::Value* operand : op->operands)
    if (contiguous_axis(e, operand) == 0) return 0;
  return 1;
}

// Transposes a square of lanes in registers: squares of `half` lanes change places, then smaller ones.
void transpose_in_registers(Emitter& e, std::vector<Value*>& rows) {
  const int width = int(rows.size());
  for (int half = width / 2; half >= 1; half /= 2) {
    std::vector<int> low, high;  // of both rows' lanes, the second's counted on from `width`
    for (int lane = 0; lane < width; ++lane) {
      low.push_back(lane & half ? width + lane - half : lane);
      high.push_back(lane & half ? width + lane : lane + half);
    }
    for (int i = 0; i < width; ++i) {
      if (i & half) continue;
      Value *&first = rows[size_t(i)], *&second = rows[size_t(i + half)];
      Value* upper = e.builder.CreateShuffleVector(first, second, low);
      second = e.builder.CreateShuffleVector(first, second, high);
      first = upper;
    }
  }
}

// A square of an operand that is contiguous along its rows' axis: read along it, transposed in registers.
// Lane j of result i is the operand at (row + i, column + j); of what lies beyond `valid` nothing is known.
std::vector<Value*> transposed_square(const Dot& d, const ir::Value* operand, Index row, int64_t valid_rows,
                                      Index column, int64_t valid_columns) {
  Emitter& e = d.e;
  std::vector<Value*> square;
  for (int64_t j = 0; j < d.width; ++j) {
    if (j >= valid_columns) {
      square.push_back(llvm::PoisonValue::get(e.lanes_type(e.element_type(d.type), d.width)));
      continue;
    }
    e.at(column.level);
    Lanes lanes{.rank = 2, .axis = 0, .width = d.width, .valid = int(valid_rows)};
    lanes.index[0] = row;
    lanes.index[1] = {e.builder.CreateAdd(column.value, e.index(j)), column.level};
    Value* value = evaluate(e, operand, lanes);
    e.here();
    square.push_back(convert(e, value, operand->type.element, d.type));
  }
  e.here();
  transpose_in_registers(e, square);
  return square;
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
  auto store = [&](Value* row, Value* k, Value* value) {
    auto& b = e.here();
    Value* elements = b.CreateAdd(b.CreateMul(row, e.index(pitch)), k);
    store_packed(d, packed.offset, b.CreateMul(elements, e.index(d.bytes())), value);
  };
  const bool transposed = d.width > 1 && d.m >= d.width && d.k >= d.width && contiguous_axis(e, a) == 0;
  versioned(e, {a}, nullptr, [&] {
    if (transposed) {
      // Along the operand's memory in the inner loop.
      in_steps(e, d.k, d.width, [&](Index k, int64_t depth) {
        in_steps(e, d.m, d.width, [&](Index row, int64_t rows) {
          const std::vector<Value*> square = transposed_square(d, a, row, rows, k, depth);
          for (int64_t i = 0; i < rows; ++i)
            store(e.here().CreateAdd(row.value, e.index(i)), k.value, square[size_t(i)]);
        });
      });
      return;
    }
    e.loop(0, d.m, 1, [&](Index row) {
      const int width = int(std::min<int64_t>(d.width, power_of_two_at_least(d.k)));
      in_steps(e, d.k, width, [&](Index k, int64_t valid) {
        Value* value = evaluate(e, a, matrix_lanes(row, k, width, valid));
        e.here();
        store(row.value, k.value, convert(e, value, a->type.element, d.type));
      });
    });
  });
  return packed;
}

Packed pack_b(const Dot& d) {
  Emitter& e = d.e;
  const ir::Value* operand = d.op->operands[1];
  Packed packed;
  // Panels an odd number of cache lines apart: their rows are written in turn.
  const int64_t lines = round_up(d.k * d.panel() * d.bytes(), kScratchAlign) / kScratchAlign;
  packed.panel_bytes = (lines | 1) * kScratchAlign;
  packed.bytes = packed.panel_bytes * (d.panels() + (d.rest_vectors() ? 1 : 0));
  packed.offset = e.scratch.take(packed.bytes);
  // Vector `v` of row k of a panel that is `vectors` wide.
  auto store = [&](Index panel, int64_t vectors, Value* v, Value* k, Value* value) {
    auto& b = e.here();
    Value* lane = b.CreateAdd(b.CreateMul(k, e.index(vectors * d.width)), b.CreateMul(v, e.index(d.width)));
    Value* bytes = b.CreateAdd(b.CreateMul(panel.value, e.index(packed.panel_bytes)),
                               b.CreateMul(lane, e.index(d.bytes())));
    store_packed(d, packed.offset, bytes, value);
  };
  // The column where vector `v` of a panel begins.
  auto column_of = [&](Index panel, Value* v) {
    auto& b = e.here();
    return Index{b.CreateAdd(b.CreateMul(panel.value, e.index(d.panel())), b.CreateMul(v, e.index(d.width))),
                 int(e.levels.size()) - 1};
  };
  auto for_each_panel = [&](const std::function<void(Index, int64_t, int64_t)>& body) {
    if (d.panels() > 0)
      e.loop(0, d.panels(), 1, [&](Index panel) { body(panel, d.block.vectors, d.panel()); });
    if (d.rest_vectors() > 0)
      body({e.index(d.panels()), int(e.levels.size()) - 1}, d.rest_vectors(), d.n % d.panel());
  };
  const bool transposed = d.width > 1 && d.k >= d.width && contiguous_axis(e, operand) == 0;
  versioned(e, {operand}, nullptr, [&] {
    if (transposed) {
      // Along the operand's memory in the inner loop.
      for_each_panel([&](Index panel, int64_t vectors, int64_t columns) {
        in_steps(e, columns, d.width, [&](Index first, int64_t valid) {
          Value* v = e.here().CreateUDiv(first.value, e.index(d.width));
          const Index column = column_of(panel, v);
          in_steps(e, d.k, d.width, [&](Index k, int64_t depth) {
            const std::vector<Value*> square = transposed_square(d, operand, k, depth, column, valid);
            for (int64_t i = 0; i < depth; ++i)
              store(panel, vectors, v, e.here().CreateAdd(k.value, e.index(i)), square[size_t(i)]);
          });
        });
      });
      return;
    }
    e.loop(0, d.k, 1, [&](Index k) {
      for_each_panel([&](Index panel, int64_t vectors, int64_t columns) {
        for (int64_t v = 0; v < vectors; ++v) {
          const Index column = column_of(panel, e.index(v));
          Value* value = evaluate(e, operand, matrix_lanes(k, column, d.width, columns - v * d.width));
          e.here();
          store(panel, vectors, e.index(v), k.value, convert(e, value, operand->type.element, d.type));
        }
      });
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
