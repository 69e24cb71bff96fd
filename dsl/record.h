// The seam between the typed surface, which is all templates, and the recorder, which has none: what a
// kernel's body does, as calls on handles. Knows nothing of C++ types; everything behind it is in .cpp files,
// which is what keeps the public header light.
#pragma once

#include <cstdint>
#include <source_location>

#include "codegen/ir/dtype.h"
#include "codegen/ir/export.h"
#include "codegen/ir/location.h"

namespace heddle::ir {
class Function;
}
namespace heddle::runtime {
struct KernelSource;
struct TraceRequest;
}  // namespace heddle::runtime

namespace heddle::record {

// The elementwise rows of the op table.
enum class Op : uint8_t {
#define HEDDLE_ELEMENTWISE(name, ...) name,
#include "codegen/ir/ops.def"
};

enum class Reduction : uint8_t { sum, product, max, min };

// The caller's line. A pointer to static data: cheap to pass.
using Where = std::source_location;

// A value of the trace that is under way: its number, and which trace that is. Never dereferenced, only
// looked up, so a handle that outlives its kernel, or strays into another, is an Error and not a crash.
// One integer, since compilers handle those best.
enum class Handle : uint64_t { none = 0 };
constexpr Handle make_handle(uint32_t id, uint32_t trace) {
  return Handle(uint64_t(trace) << 32 | id);
}
constexpr uint32_t id_of(Handle handle) {
  return uint32_t(handle);
}
constexpr uint32_t trace_of(Handle handle) {  // from 1
  return uint32_t(uint64_t(handle) >> 32);
}

// One extent of a tile: a dim by name, or a number.
struct Extent {
  const char* dim = nullptr;
  int64_t value = 0;
};
struct Shape {
  const Extent* extents = nullptr;
  int rank = 0;
};

// A C++ number on its way into a kernel.
struct Number {
  enum class Kind : uint8_t { signed_integer, unsigned_integer, real };
  Kind kind = Kind::signed_integer;
  union {
    int64_t integer = 0;
    double real;
  };
};

// ---- Dims
// The number a dim is bound to. Error outside a trace, and where the schedule doesn't bind it.
HEDDLE_API int64_t dim_value(const char* dim, Where where);

// ---- Values
HEDDLE_API Handle literal(DType type, Number number, Where where);  // Error if `type` doesn't hold it exactly
HEDDLE_API Handle literal(DType type, const char* dim, Where where);
HEDDLE_API Handle literal(Extent extent, Where where);               // in i64
HEDDLE_API Handle constant(DType type, Number number, Where where);  // rounds
HEDDLE_API Handle full(Handle scalar, Shape shape, Where where);
HEDDLE_API Handle arange(Extent extent, Where where);
// Operands meet in the shape that covers both: scalars and literal extents of 1 stretch.
HEDDLE_API Handle unary(Op op, Handle a, Where where);
HEDDLE_API Handle binary(Op op, Handle a, Handle b, Where where);
HEDDLE_API Handle ternary(Op op, Handle a, Handle b, Handle c, Where where);
HEDDLE_API Handle select(Handle condition, Handle a, Handle b, Where where);
HEDDLE_API Handle cast(Handle value, DType to, Where where);
HEDDLE_API Handle bitcast(Handle value, DType to, Where where);
HEDDLE_API Handle broadcast(Handle value, Shape shape, Where where);
HEDDLE_API Handle expand(Handle value, int axis, Where where);
HEDDLE_API Handle squeeze(Handle value, int axis, Where where);
HEDDLE_API Handle transpose(Handle value, Where where);
HEDDLE_API Handle reduce(Handle value, Reduction kind, int axis, Where where);
HEDDLE_API Handle reduce_all(Handle value, Reduction kind, Where where);  // last axis first; gives a scalar
HEDDLE_API Handle dot(Handle a, Handle b, Where where);

// ---- Memory. Handle::none stands for an absent mask or fill.
HEDDLE_API Handle pointer_add(Handle pointer, Handle offset, Where where);
HEDDLE_API Handle load(Handle pointer, Handle mask, Handle fill, Where where);
HEDDLE_API void store(Handle pointer, Handle value, Handle mask, Where where);
// Of a view whose `fixed` leading axes have been indexed away; `axis` counts the others.
HEDDLE_API Handle view_extent(Handle view, int axis, int fixed, Where where);
HEDDLE_API Handle view_stride(Handle view, int axis, int fixed, Where where);
HEDDLE_API Handle load_view(Handle view, const Handle* offsets, int count, Shape shape, Handle fill,
                            Where where);
HEDDLE_API void store_view(Handle view, const Handle* offsets, int count, Handle value, Where where);

// ---- Variables
HEDDLE_API Handle variable(Handle initial, Where where);
HEDDLE_API Handle read(Handle variable, Where where);
HEDDLE_API void write(Handle variable, Handle value,
                      Where where);  // stretches the value to the variable's shape

// ---- The work space
HEDDLE_API Handle program_id(int axis, Where where);
// Fills in an element offset for each extent.
HEDDLE_API void tile_id(const Handle* extents, const Extent* sizes, int rank, Handle* offsets, Where where);
HEDDLE_API Handle ordinal(Handle offset, Handle first, Handle step, Where where);  // (offset - first) / step
HEDDLE_API Handle ceil_div(Handle numerator, Handle denominator, Where where);

// ---- Control
// A region of code that is being recorded. Regions close in reverse order; one that is destroyed while open
// was left by break, return or an exception, which makes the trace an Error.
class HEDDLE_API Scope {
 public:
  explicit Scope(Handle handle) : handle_(handle) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (open_) abandon();
  }
  bool open() const { return open_; }
  void close();
  Handle handle() const { return handle_; }

 private:
  void abandon() noexcept;

  Handle handle_;  // its number counts scopes
  bool open_ = true;
};

struct OpenLoop {
  Handle scope;
  Handle index;
};
HEDDLE_API OpenLoop open_loop(Handle lower, Handle upper, Handle step, bool cuttable, Where where);

struct OpenBranch {
  Handle scope;
  Handle branch;  // for open_otherwise
};
HEDDLE_API OpenBranch open_branch(Handle condition, Where where);
// Error if something was recorded since the branch closed.
HEDDLE_API Handle open_otherwise(Handle branch, Where where);

HEDDLE_API Handle open_while(Where where);                                     // the condition's region
HEDDLE_API void close_condition(Handle scope, Handle condition, Where where);  // the body's region follows

// ---- One trace
struct Parameter {
  enum class Kind : uint8_t { pointer, view, scalar };
  Kind kind;
  DType element;
  int rank;
  bool read_only;
};

// Makes this thread record into a new function until finish() or destruction.
class HEDDLE_API Trace {
 public:
  Trace(const runtime::KernelSource& source, const runtime::TraceRequest& request,
        const Parameter* parameters, int count);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  Handle next_parameter() { return make_handle(next_++, trace_); }
  // What was recorded; the caller owns it. Error if the body broke a rule that shows only at its end.
  ir::Function* finish();

 private:
  class Recorder* recorder_;
  uint32_t trace_;
  uint32_t next_ = 0;
};

// ---- Calls from the host
// Error if a kernel is being traced on this thread: a body can't launch.
HEDDLE_API void check_launch(const char* kernel, Where where);
// The Error of a scalar argument that its parameter's type doesn't hold.
[[noreturn]] HEDDLE_API void report_scalar(DType type, Number number, Where where);

}  // namespace heddle::record
