// One kernel: arguments unpacked, the body's region, an object.
#include "codegen/host/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/host/control.h"
#include "codegen/host/emitter.h"
#include "codegen/llvm/errors.h"
#include "codegen/llvm/module.h"

namespace heddle::codegen {

namespace host {

namespace {

using llvm::Value;

// Argument slots are 8 bytes: a pointer, a scalar in the low bytes, or a view's base, extents, strides.
class Arguments {
 public:
  Arguments(Emitter& e, Value* slots) : e_(e), slots_(slots) {}

  void unpack(const ir::Parameter& parameter) {
    const ir::Type& type = parameter.value->type;
    auto& b = e_.builder;
    if (type.kind == ir::Type::Kind::view) {
      View view{.base = next(b.getPtrTy()), .extents = {}, .strides = {}};
      for (int i = 0; i < type.rank; ++i) view.extents.push_back(next(b.getInt64Ty()));
      for (int i = 0; i < type.rank; ++i) view.strides.push_back(next(b.getInt64Ty()));
      if (const int axis = parameter.facts.unit_stride_axis; axis >= 0)
        view.strides[size_t(axis)] = e_.index(1);
      e_.views[parameter.value] = std::move(view);
    } else if (type.kind == ir::Type::Kind::pointer) {
      e_.scalars[parameter.value] = next(b.getPtrTy());
    } else {
      e_.scalars[parameter.value] = scalar(type.element);
    }
  }

 private:
  Value* next(llvm::Type* type) {
    auto& b = e_.builder;
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), slots_, slot_++));
  }

  Value* scalar(DType element) {
    auto& b = e_.builder;
    Value* bits = b.CreateTrunc(next(b.getInt64Ty()), b.getIntNTy(unsigned(size_bytes(element) * 8)));
    if (element == DType::i1) return b.CreateICmpNE(bits, b.getInt8(0));
    return b.CreateBitCast(bits, e_.element_type(element));
  }

  Emitter& e_;
  Value* slots_;
  unsigned slot_ = 0;
};

void emit_entry(Emitter& e) {
  auto& b = e.builder;
  e.entry = e.new_function(kEntryName, {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getPtrTy()});
  e.entry->setLinkage(llvm::Function::ExternalLinkage);
  for (const unsigned i : {0u, 1u}) {
    e.entry->addParamAttr(i, llvm::Attribute::NoAlias);
    e.entry->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  e.entry->addParamAttr(3, llvm::Attribute::NoAlias);
  e.work = e.entry->getArg(1);
  e.worker = e.entry->getArg(2);
  e.scratch_base = e.entry->getArg(3);
  e.levels.push_back({.block = e.new_block("entry"), .memo = {}});
  e.at(0);
  Arguments arguments(e, e.entry->getArg(0));
  for (const ir::Parameter& parameter : e.function.parameters) arguments.unpack(parameter);
  emit_region(e, e.function.body, [](const ir::Op*) {});
  e.at(0).CreateRetVoid();
}

}  // namespace

Compiled compile_for(const ir::Function& function, const Cpu& cpu, bool want_text) {
  LlvmErrors errors("compile kernel '" + function.name + "'");
  llvm::LLVMContext context;
  errors.watch(context);
  llvm::Module module("kernel", context);
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(cpu);
  prepare_module(module, *machine);
  Emitter e(function, cpu, module);
  emit_entry(e);
  optimise(module, *machine);
  Compiled result;
  if (want_text) result.llvm = print_module(module);
  if (want_text) result.assembly = print_assembly(module, *machine);
  result.object = {.code = emit_object(module, *machine), .scratch_bytes = e.scratch.high_water()};
  return result;
}

}  // namespace host

HostObject compile_host(const ir::Function& function) {
  return host::compile_for(function, host::this_cpu()).object;
}

}  // namespace heddle::codegen
