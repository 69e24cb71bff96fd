// The type rules of every op, in one place: the builder, the parser and the verifier all ask here.
#pragma once

#include <string>

#include "codegen/ir/ir.h"

namespace heddle::ir {

// Empty when `op`'s operands, attributes and result types agree with its row and rules; else one sentence
// saying which rule is broken, with the types. Looks at the op alone, not at what surrounds it.
std::string check(const Op& op);

// The result type of an op whose result follows from its operands (elementwise, select, dot, reduce, expand,
// squeeze, transpose, pointer_add, read_variable, view_extent ...). Kind::none for ops whose type is the
// caller's choice (constant, arange, cast, bitcast, broadcast, load_view) and for malformed ones, which
// check() then describes.
Type infer(Opcode code, const std::vector<Value*>& operands, const std::vector<Extent>& attributes);

// f32 for f16, bf16 and f32; f64 for f64; i32 for i8: what `dot` accumulates in.
DType accumulator(DType operand);

}  // namespace heddle::ir
