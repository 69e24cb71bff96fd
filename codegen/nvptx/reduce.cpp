// Reductions along an axis, by the tree that docs/language.md states: the upper half is folded onto the
// lower, from the highest bit of the coordinate down. A bit is one of the thread's registers, of lanes, or of
// warps.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <span>

#include "codegen/llvm/lane_ops.h"
#include "codegen/machine/analysis.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using llvm::Value;

namespace {

// x combined with it is x, bit for bit.
int64_t identity(ir::ReduceKind kind, DType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  const int64_t smallest = std::numeric_limits<int64_t>::min() >> (64 - bit_width(type));
  if (!is_any_float(type)) {
    switch (kind) {
      case ir::ReduceKind::sum: return 0;
      case ir::ReduceKind::product: return 1;
      case ir::ReduceKind::max: return smallest;
      case ir::ReduceKind::min: return ~smallest;
    }
  }
  switch (kind) {
    case ir::ReduceKind::sum: return ir::constant_payload(type, -0.0);
    case ir::ReduceKind::product: return ir::constant_payload(type, 1.0);
    case ir::ReduceKind::max: return ir::constant_payload(type, -infinity);
    case ir::ReduceKind::min: return ir::constant_payload(type, infinity);
  }
  return 0;
}

class Reduction {
 public:
  Reduction(Emitter& e, const Op* op)
      : e_(e),
        op_(op),
        operand_(op->operands[0]),
        layout_(e.layout(operand_)),
        type_(operand_->type.element),
        kind_(ir::ReduceKind(op->attribute(0))),
        axis_(int(op->attribute(1))),
        block_(layout_.block(axis_)) {}

  Registers run() {
    gather();
    if (is_order_free(kind_, type_)) {
      fold_in_any_order();
      return results();
    }
    for (int64_t repeats = layout_.repeat[size_t(axis_)]; repeats > 1;) {
      const int64_t half = int64_t(std::bit_floor(uint64_t(repeats - 1)));
      fold_registers(half * block_, repeats * block_);
      repeats = half;
    }
    for (int64_t half = block_ / 2; half >= 1; half /= 2) {
      const int shift = std::bit_width(uint64_t(half)) - 1;
      if (const auto moved = in_lanes_.find(shift); moved != in_lanes_.end()) {
        fold_lane(moved->second);
      } else if (is_register(shift)) {
        fold_registers(half, 2 * half);
      } else if (const int lane = position(layout_.lanes, shift); lane >= 0) {
        if (!fold_half_each(shift, lane)) fold_lane(lane);
      } else {
        // All the warps' bits from here down, and the lanes' that follow, in one exchange.
        std::vector<int> warps, lanes;
        int next = shift;
        for (; next >= 0 && position(layout_.warps, next) >= 0; --next)
          warps.push_back(position(layout_.warps, next));
        for (; next >= 0 && position(layout_.lanes, next) >= 0; --next)
          lanes.push_back(position(layout_.lanes, next));
        in_turns([&](std::span<Entry> values) { across_warps(warps, lanes, values); });
        half >>= shift - next - 1;
      }
    }
    return results();
  }

 private:
  struct Entry {
    ir::Coordinates at;
    Value* value;
  };

  static int position(const std::vector<Layout::Bit>& bits, int shift, int axis) {
    for (size_t i = 0; i < bits.size(); ++i)
      if (bits[i].axis == axis && bits[i].shift == shift) return int(i);
    return -1;
  }
  int position(const std::vector<Layout::Bit>& bits, int shift) const { return position(bits, shift, axis_); }
  bool is_register(int shift) const { return position(layout_.registers, shift) >= 0; }

  Value* combined(Value* a, Value* b) { return combine(e_, kind_, type_, a, b); }

  // The tile's registers, with the identity where the layout reaches beyond the tile.
  void gather() {
    auto& b = e_.builder;
    const Registers& registers = e_.tiles.at(operand_);
    const int64_t extent = operand_->type.extents[size_t(axis_)].value;
    Value* neutral = lane_constant(e_, type_, identity(kind_, type_));
    for (size_t r = 0; r < registers.size(); ++r) {
      const ir::Coordinates at = layout_.of_register(int64_t(r));
      Value* value = registers[r];
      if (layout_.covered(axis_) != extent) {
        Value* coordinate = b.CreateAdd(e_.thread_coordinate(layout_, axis_), e_.i32(at[size_t(axis_)]));
        value = b.CreateSelect(b.CreateICmpULT(coordinate, e_.i32(extent)), value, neutral);
      }
      values_.push_back({at, value});
    }
  }

  Value** find(ir::Coordinates at) {
    for (Entry& entry : values_)
      if (entry.at == at) return &entry.value;
    return nullptr;
  }

  // Registers in [half, end) along the axis onto those in [0, end - half).
  void fold_registers(int64_t half, int64_t end) {
    std::vector<Entry> kept;
    for (Entry entry : values_) {
      if (entry.at[size_t(axis_)] >= half) continue;
      ir::Coordinates other = entry.at;
      other[size_t(axis_)] += half;
      if (other[size_t(axis_)] < end)
        if (Value** found = find(other)) entry.value = combined(entry.value, *found);
      kept.push_back(entry);
    }
    values_ = std::move(kept);
  }

  void fold_in_any_order() {
    const auto bits_along_axis = [&](const std::vector<Layout::Bit>& bits) {
      std::vector<int> found;
      for (size_t i = 0; i < bits.size(); ++i)
        if (bits[i].axis == axis_) found.push_back(int(i));
      return found;
    };
    fold_all_registers();
    const std::vector<int> lanes = bits_along_axis(layout_.lanes), warps = bits_along_axis(layout_.warps);
    for (const int lane : lanes) fold_lane(lane);
    if (warps.empty()) return;
    if (int(lanes.size()) == Layout::kLaneBits)
      in_turns([&](std::span<Entry> values) { across_warps_by_lanes(warps, values); });
    else
      in_turns([&](std::span<Entry> values) { across_warps(warps, {}, values); });
  }

  // Onto those at the first coordinate along the axis, neighbours first.
  void fold_all_registers() {
    std::vector<Entry> kept;
    for (const Entry& entry : values_) {
      ir::Coordinates at = entry.at;
      at[size_t(axis_)] = 0;
      const auto same = std::find_if(kept.begin(), kept.end(), [&](const Entry& e) { return e.at == at; });
      if (same == kept.end())
        kept.push_back({at, entry.value});
      else
        same->value = combined(same->value, entry.value);
    }
    values_ = std::move(kept);
  }

  void fold_lane(int lane) {
    for (Entry& entry : values_) entry.value = combined(entry.value, from_lane(entry.value, 1 << lane));
  }

  // Two lanes that would both fold two registers fold one each instead. The registers' bit of the coordinate
  // is the lanes' from then on. False where there is no such bit below `shift`.
  bool fold_half_each(int shift, int lane) {
    auto& b = e_.builder;
    int bit = shift - 1;
    while (bit >= 0 && (!is_register(bit) || in_lanes_.count(bit))) --bit;
    if (bit < 0) return false;
    in_lanes_[bit] = lane;
    Value* upper = b.CreateICmpNE(b.CreateAnd(e_.thread, e_.i32(int64_t(1) << lane)), e_.i32(0));
    std::vector<Entry> kept;
    for (const Entry& entry : values_) {
      if (entry.at[size_t(axis_)] >> bit & 1) continue;
      ir::Coordinates other = entry.at;
      other[size_t(axis_)] += int64_t(1) << bit;
      Value* partner = *find(other);
      Value* own = b.CreateSelect(upper, partner, entry.value);
      Value* sent = b.CreateSelect(upper, entry.value, partner);
      kept.push_back({entry.at, combined(own, from_lane(sent, 1 << lane))});
    }
    values_ = std::move(kept);
    return true;
  }

  Value* shuffle(Value* word, int mask) {
    auto& b = e_.builder;
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {e_.i32(-1), word, e_.i32(mask), e_.i32(31)});
  }

  Value* from_lane(Value* value, int mask) {
    auto& b = e_.builder;
    const unsigned bits = unsigned(bit_width(type_));
    llvm::Type* integer = b.getIntNTy(bits);
    Value* raw = b.CreateBitCast(value, integer);
    if (bits <= 32) {
      Value* moved = shuffle(b.CreateZExt(raw, b.getInt32Ty()), mask);
      return b.CreateBitCast(b.CreateTrunc(moved, integer), value->getType());
    }
    Value* low = shuffle(b.CreateTrunc(raw, b.getInt32Ty()), mask);
    Value* high = shuffle(b.CreateTrunc(b.CreateLShr(raw, 32), b.getInt32Ty()), mask);
    Value* joined = b.CreateOr(b.CreateZExt(low, integer), b.CreateShl(b.CreateZExt(high, integer), 32));
    return b.CreateBitCast(joined, value->getType());
  }

  // Where a thread leaves or finds one of its values.
  SlotAddresses::Place shared_address(Value* thread, Value* entry) {
    auto& b = e_.builder;
    const BufferLayout memory(op_->operands[1]);
    Value* element = b.CreateAdd(thread, b.CreateMul(entry, e_.i32(int64_t(e_.function.warps) * 32)));
    Value* offset = b.CreateAdd(e_.i32(memory.offset), b.CreateMul(element, e_.i32(memory.element_bytes)));
    return {e_.shared_at(offset), 0};
  }

  // All values, as many at a time as the buffer has room for.
  void in_turns(const std::function<void(std::span<Entry>)>& exchange) {
    const int64_t room = BufferLayout(op_->operands[1]).extents[0] / (2 * int64_t(e_.function.warps) * 32);
    for (size_t first = 0; first < values_.size(); first += size_t(room))
      exchange(std::span(values_).subspan(first, std::min(size_t(room), values_.size() - first)));
  }

  // For kinds that are free of order, when every lane of a warp has the warp's outcome: lanes read those of
  // the other warps, and fold them among themselves.
  void across_warps_by_lanes(const std::vector<int>& warps, std::span<Entry> values) {
    auto& b = e_.builder;
    Value* thread = e_.thread;  // as far as it tells apart warps that do not share a result
    for (size_t k = 0; k < warps.size(); ++k) {
      const int64_t warp_bit = Layout::kLaneBits + warps[k];
      Value* lane_bit = b.CreateAnd(b.CreateLShr(e_.thread, e_.i32(int64_t(k))), e_.i32(1));
      thread = b.CreateOr(b.CreateAnd(thread, e_.i32(~(int64_t(1) << warp_bit))),
                          b.CreateShl(lane_bit, e_.i32(warp_bit)));
    }
    Value* zero = llvm::Constant::getNullValue(e_.element_type(type_));
    e_.barrier();
    for (size_t i = 0; i < values.size(); ++i)
      store_packed(e_, shared_address(e_.thread, e_.i32(int64_t(i))), {values[i].value}, type_, nullptr);
    e_.barrier();
    for (size_t i = 0; i < values.size(); ++i) {
      Value* value = load_packed(e_, shared_address(thread, e_.i32(int64_t(i))), {zero}, type_, nullptr)[0];
      for (size_t k = 0; k < warps.size(); ++k) value = combined(value, from_lane(value, 1 << k));
      values[i].value = value;
    }
  }

  // Each thread leaves its values in shared memory. The warps that differ in `warps` (highest bit first)
  // share the values among them: each folds its part over those warps, then over `lanes`, and gives the
  // outcome to the others.
  void across_warps(const std::vector<int>& warps, const std::vector<int>& lanes, std::span<Entry> values) {
    auto& b = e_.builder;
    const int64_t count = int64_t(values.size()), parts = int64_t(1) << warps.size();
    e_.barrier();
    for (int64_t i = 0; i < count; ++i)
      store_packed(e_, shared_address(e_.thread, e_.i32(i)), {values[size_t(i)].value}, type_, nullptr);
    e_.barrier();
    int64_t mask = 0;
    Value* part = e_.i32(0);  // this warp's number among those that differ in `warps`
    for (size_t k = 0; k < warps.size(); ++k) {
      mask |= int64_t(1) << (Layout::kLaneBits + warps[k]);
      Value* bit = b.CreateAnd(b.CreateLShr(e_.thread, e_.i32(Layout::kLaneBits + warps[k])), e_.i32(1));
      part = b.CreateOr(part, b.CreateShl(bit, e_.i32(int64_t(k))));
    }
    Value* first = b.CreateAnd(e_.thread, e_.i32(~mask));
    Value* zero = llvm::Constant::getNullValue(e_.element_type(type_));
    for (int64_t turn = 0; turn * parts < count; ++turn) {
      Value* entry = b.CreateAdd(part, e_.i32(turn * parts));
      entry = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, entry, e_.i32(count - 1));
      // What is left of the warps from `other` on in steps of `step`. Depth first, for the fewest registers.
      const std::function<Value*(int64_t, int64_t)> folded = [&](int64_t other, int64_t step) {
        if (step < parts) {
          Value* lower = folded(other, 2 * step);
          return combined(lower, folded(other + step, 2 * step));
        }
        int64_t thread_bits = 0;
        for (size_t k = 0; k < warps.size(); ++k)
          if (other >> (warps.size() - 1 - k) & 1)
            thread_bits |= int64_t(1) << (Layout::kLaneBits + warps[k]);
        Value* thread = b.CreateOr(first, e_.i32(thread_bits));
        return load_packed(e_, shared_address(thread, entry), {zero}, type_, nullptr)[0];
      };
      Value* sum = folded(0, 1);
      for (const int lane : lanes) sum = combined(sum, from_lane(sum, 1 << lane));
      // Into a second area, so that slower warps may still read the first.
      store_packed(e_, shared_address(first, b.CreateAdd(entry, e_.i32(count))), {sum}, type_, nullptr);
    }
    e_.barrier();
    for (int64_t i = 0; i < count; ++i)
      values[size_t(i)].value =
          load_packed(e_, shared_address(first, e_.i32(count + i)), {zero}, type_, nullptr)[0];
  }

  // In the order of the result's registers.
  Registers results() {
    const Layout& layout = e_.layout(op_->results[0]);
    Registers out;
    for (int64_t r = 0; r < layout.register_count(); ++r) out.push_back(*find(layout.of_register(r)));
    return out;
  }

  Emitter& e_;
  const Op* op_;
  const ir::Value* operand_;
  const Layout& layout_;
  const DType type_;
  const ir::ReduceKind kind_;
  const int axis_;
  const int64_t block_;
  std::vector<Entry> values_;
  std::unordered_map<int, int>
      in_lanes_;  // bits of the coordinate that were registers', by the lanes' bit they are now
};

}  // namespace

void emit_reduce(Emitter& e, const Op* op) {
  e.bind(op->results[0], Reduction(e, op).run());
}

}  // namespace heddle::codegen::nvptx
