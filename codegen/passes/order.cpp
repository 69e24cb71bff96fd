// Global code motion (Click, 1995) followed by a depth-first listing.
#include "codegen/passes/order.h"

#include <algorithm>
#include <unordered_map>

namespace heddle::codegen {

namespace {

using ir::Effect;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Value;

bool is_loop(const Op* op) {
  return op && (op->code == Opcode::for_loop || op->code == Opcode::while_loop);
}

bool asks_launch(Opcode code) {
  switch (code) {
    case Opcode::tile_id:
    case Opcode::program_id:
    case Opcode::worker_id:
    case Opcode::work_param:
    case Opcode::view_extent:
    case Opcode::view_stride: return true;
    default: return false;
  }
}

struct Node {
  bool pure = false;    // may change its region
  bool writes = false;  // holds its place among the region's other writes; so does yield
  bool listed = false;
  Region* region =
      nullptr;  // where it goes; while uses are gathered, the innermost region around all of them
  Region* earliest = nullptr;  // of pure ops: the innermost region that an operand belongs to
  int rank = 0;                // of reads: place in a listing that minds no epochs
};

class Order {
 public:
  explicit Order(ir::Function& function) : function_(function) {}

  void run() {
    collect(function_.body, 0);
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) choose_region(*op);
    // The first listing finds in which order reads are wanted. The second also lists those that must precede
    // a write although only something behind it wants them.
    list(function_.body);
    if (late_reads_) {
      for (auto& [region, epochs] : reads_)
        for (std::vector<Op*>& reads : epochs) {
          std::erase_if(reads, [&](const Op* read) { return !node(read).listed; });
          std::sort(reads.begin(), reads.end(),
                    [&](const Op* a, const Op* b) { return node(a).rank < node(b).rank; });
        }
      for (auto& [op, node] : nodes_) node.listed = false;
      lists_.clear();
      ranked_ = true;
      list(function_.body);
    }
    for (auto& [region, ops] : lists_) {
      for (Op* op : ops) op->parent = region;
      region->ops = std::move(ops);
    }
  }

 private:
  struct Place {
    int depth, loop_depth;
  };

  Node& node(const Op* op) { return nodes_.find(op)->second; }

  // All ops in printed order, with what can be said of each from its operands. Returns whether one writes.
  bool collect(Region& region, int depth, int loop_depth = 0) {
    places_[&region] = {depth, loop_depth};
    bool any_write = false;
    int epoch = 0;
    for (Op* op : region.ops) {
      ops_.push_back(op);
      Node& fresh = nodes_[op];
      const Effect effect = ir::info(op->code).effect;
      fresh.pure = effect == Effect::pure;
      if (fresh.pure) {
        fresh.earliest = &function_.body;
        for (const Value* operand : op->operands) {
          Region* home = operand->region;
          if (!home) {
            const Node& definition = node(operand->definition);
            home = definition.pure ? definition.earliest : operand->definition->parent;
          }
          if (places_[home].depth > places_[fresh.earliest].depth) fresh.earliest = home;
        }
        continue;
      }
      bool inner_writes = false;
      for (Region* inner : op->regions) inner_writes |= collect(*inner, depth + 1, loop_depth + is_loop(op));
      fresh.region = &region;
      fresh.writes = inner_writes || effect == Effect::write || effect == Effect::ordered;
      if (fresh.writes) {
        late_reads_ |= !reads_[&region].empty() && op->code != Opcode::yield;
        any_write |= op->code != Opcode::yield;
        ++epoch;
      } else {
        reads_[&region].resize(epoch + 1);
        reads_[&region][epoch].push_back(op);
      }
    }
    return any_write;
  }

  Region* common(Region* a, Region* b) {
    if (!a) return b;
    while (a != b) {
      Region*& deeper = places_[a].depth >= places_[b].depth ? a : b;
      deeper = deeper->parent->parent;
    }
    return a;
  }

  // Called after all users of `op` have their region.
  void choose_region(Op* op) {
    Node& own = node(op);
    if (own.pure) {
      if (!own.region) return;  // unused
      if (asks_launch(op->code)) own.region = own.earliest;
      while (places_[own.region].loop_depth > places_[own.earliest].loop_depth)
        own.region = own.region->parent->parent;
    }
    for (const Value* operand : op->operands)
      if (operand->definition)
        if (Node& used = node(operand->definition); used.pure) used.region = common(used.region, own.region);
  }

  void list(Region& region) {
    lists_[&region];
    int epoch = 0;
    for (Op* op : region.ops) {
      if (!node(op).writes) continue;
      for (Value* operand : op->operands) visit(operand->definition);
      if (ranked_) list_reads(region, epoch);
      visit(op);
      ++epoch;
    }
  }

  void list_reads(Region& region, int epoch) {
    const auto found = reads_.find(&region);
    if (found == reads_.end() || size_t(epoch) >= found->second.size()) return;
    for (Op* read : found->second[epoch]) visit(read);
  }

  // Lists `root` after everything it needs. The stack is explicit because unrolled kernels make long chains.
  void visit(Op* root) {
    if (!root || node(root).listed) return;
    std::vector<std::pair<Op*, size_t>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      if (next < op->operands.size()) {
        Op* definition = op->operands[next++]->definition;
        if (definition && !node(definition).listed) stack.push_back({definition, 0});
        continue;
      }
      Op* done = op;
      stack.pop_back();
      Node& own = node(done);
      if (own.listed) continue;
      own.listed = true;
      // What the regions need from outside goes to lists that are still being written, hence before `done`.
      for (Region* inner : done->regions) list(*inner);
      if (!ranked_) own.rank = next_rank_++;
      lists_[own.region].push_back(done);
    }
  }

  ir::Function& function_;
  std::vector<Op*> ops_;
  std::unordered_map<const Op*, Node> nodes_;
  std::unordered_map<const Region*, Place> places_;
  // Of each region, its reads by epoch: how many of its writes precede them.
  std::unordered_map<const Region*, std::vector<std::vector<Op*>>> reads_;
  std::unordered_map<Region*, std::vector<Op*>> lists_;
  bool late_reads_ = false;  // some read stands before a write: epochs matter
  bool ranked_ = false;
  int next_rank_ = 0;
};

}  // namespace

bool writes(const ir::Op& op) {
  if (ir::info(op.code).effect == Effect::write) return true;
  for (const Region* region : op.regions)
    for (const Op* inner : region->ops)
      if (writes(*inner)) return true;
  return false;
}

void order_by_use(ir::Function& function) {
  Order(function).run();
}

}  // namespace heddle::codegen
