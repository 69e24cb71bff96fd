// The one intermediate representation: SSA values, ops from ops.def, structured regions. Serves the tile,
// scheduled and machine levels. Plain data: passes are free functions over it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/layout.h"
#include "codegen/ir/location.h"
#include "codegen/ir/type.h"

namespace heddle::ir {

enum class Opcode : uint8_t {
#define HEDDLE_ELEMENTWISE(name, ...) name,
#define HEDDLE_STRUCTURED(name, ...)  name,
#include "codegen/ir/ops.def"
};

enum class Effect : uint8_t { pure, read, write, control, ordered };
enum class Domain : uint8_t { number, integer, floating, single, bits, any };

// A row of ops.def.
struct OpInfo {
  const char* name;
  bool elementwise;
  bool expanded;  // composed of other ops by expand_math
  // Elementwise rows.
  Domain domain;
  bool boolean_result;
  bool commutative;
  // All rows.
  int min_operands, max_operands;  // -1 = no limit
  int results;                     // -1 = any number
  int regions;
  const char* attributes;  // names, comma-separated; "*" = any number of unnamed ones
  Effect effect;
};
const OpInfo& info(Opcode code);
bool parse_opcode(std::string_view name, Opcode& code);
inline constexpr int kOpcodeCount = 0
#define HEDDLE_ELEMENTWISE(...) +1
#define HEDDLE_STRUCTURED(...)  +1
#include "codegen/ir/ops.def"
    ;
constexpr bool in_domain(Domain domain, DType type) {
  switch (domain) {
    case Domain::number: return is_integer(type) || is_floating(type);
    case Domain::integer: return is_integer(type);
    case Domain::floating: return is_floating(type);
    case Domain::single: return is_floating(type) && type != DType::f64;
    case Domain::bits: return is_integer(type) || type == DType::i1;
    case Domain::any: return dtype_class(type) != DTypeClass::storage_float;
  }
  return false;
}

enum class ReduceKind : uint8_t { sum, product, max, min };
const char* to_string(ReduceKind kind);

// Regions within regions: each level is a few frames of whatever walks them.
inline constexpr int kMaxRegionDepth = 200;

// What a launch passes to its workers besides arguments: what work_param's index picks from
// (codegen/schedule/lower.h names them).
inline constexpr int kWorkParams = 5;

struct Op;
struct Region;

struct Value {
  Type type;
  Op* definition = nullptr;  // null for region arguments
  Region* region = nullptr;  // the region whose argument this is; null for results
  int index = 0;             // among the results or arguments
  Location where;            // of a loop's state: where its variable was declared
};

struct Op {
  Opcode code;
  std::vector<Value*> operands;
  std::vector<Value*> results;
  std::vector<Extent> attributes;
  std::vector<Region*> regions;
  Region* parent = nullptr;
  Location where;

  Value* result(int i = 0) const { return results[i]; }
  int64_t attribute(int i) const { return attributes[i].value; }
};

struct Region {
  Op* parent = nullptr;  // null for a function's body
  std::vector<Value*> arguments;
  std::vector<Op*> ops;  // the last is a yield, but in a function's body, which has none
};

// A named dim and the number the schedule bound it to.
struct Dim {
  std::string name;  // for messages; printed as d<index>
  int64_t value;
};

// Facts a parameter is specialised on: yes or no, never a value.
struct Facts {
  int8_t unit_stride_axis = -1;  // of a view: the axis known to have stride 1; -1 = none known
  bool aligned16 = false;        // base, and of a view every other stride, are multiples of 16 bytes
  friend bool operator==(const Facts&, const Facts&) = default;
};

struct Parameter {
  Value* value;
  bool read_only = false;  // View<const T, r>, Ptr<const T>
  Facts facts;
};

// A kernel at any level. Owns everything reachable from it; values and ops that passes drop stay allocated
// until the function dies (functions are short-lived and small).
class Function {
 public:
  std::string name;
  std::vector<Dim> dims;
  std::vector<Parameter> parameters;
  Region body;  // parameters are its arguments
  // Machine programs only.
  std::vector<Layout> layouts;  // what Type::layout names
  int warps = 0;                // of a CTA; 0 = not a machine program
  int ctas = 1;                 // on a multiprocessor, at least: what registers are allotted for
  int64_t shared_bytes = 0;     // of a CTA

  Function() = default;
  Function(Function&&) = delete;

  Op* new_op(Opcode code, Location where);
  Value* new_value(Type type);
  Region* new_region(Op* parent);  // appended to parent->regions
  Value* add_argument(Region& region, Type type);
  Value* add_result(Op& op, Type type);
  Parameter& add_parameter(Type type, bool read_only, Facts facts = {});

 private:
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Region>> regions_;
};

std::unique_ptr<Function> clone(const Function& function);

// Calls visit(op) for every op, outer before inner, in order. `visit` must not change the op list it is
// walking.
template <class Visit>
void walk(const Region& region, Visit&& visit) {
  for (Op* op : region.ops) {
    visit(op);
    for (Region* inner : op->regions) walk(*inner, visit);
  }
}

// Replaces every operand in `region` (and inner ones) that is `from` by `to`.
void replace_uses(Region& region, Value* from, Value* to);
// Whether `region` is `outer` or lies within it.
bool is_inside(const Region* region, const Region* outer);
// The region a value belongs to: where its op stands, or whose argument it is.
Region* home(const Value* value);

// Payload of a constant: integers and booleans as they are, floats as the bits of their f64 value.
int64_t constant_payload(DType type, double value);
double float_payload(int64_t payload);

}  // namespace heddle::ir
