// One kernel: parameters, the body, PTX.
#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/ir/fail.h"
#include "codegen/llvm/errors.h"
#include "codegen/llvm/module.h"
#include "codegen/nvptx/emitter.h"
#include "codegen/nvptx/nvptx.h"
#include "codegen/schedule/lower.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace heddle::codegen {

namespace nvptx {

namespace {

using llvm::Value;

static_assert(kGpuWorkParams == kWorkParamCount);

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kPtxVersion = "+ptx80";  // every driver since CUDA 12.0 reads it

// The newest target that version knows and a GPU of compute capability `sm` runs: PTX is assembled for later
// GPUs too.
int ptx_target(int sm) {
  constexpr int kKnown[] = {90, 89, 87, 86, 80};
  for (const int known : kKnown)
    if (known <= sm) return known;
  fail(ErrorKind::unsupported, {}, "kernels need compute capability 8.0, not {}.{}", sm / 10, sm % 10);
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(int sm) {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, message);
  if (!target) fail(ErrorKind::unsupported, {}, "LLVM has no NVPTX target: {}", message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a fma is written, or is none
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, fmt::format("sm_{}", ptx_target(sm)), kPtxVersion, options,
                                  llvm::Reloc::PIC_, {}, llvm::CodeGenOptLevel::Aggressive));
}

// A PTX identifier that a reader recognises.
std::string entry_name(const std::string& kernel) {
  std::string name = "heddle_";
  for (const char c : kernel.substr(0, 64)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  return name;
}

int64_t slot_count(const ir::Function& program) {
  int64_t count = 0;
  for (const ir::Parameter& parameter : program.parameters)
    count += parameter.value->type.kind == ir::Type::Kind::view ? 1 + 2 * parameter.value->type.rank : 1;
  return count;
}

class Arguments {
 public:
  explicit Arguments(Emitter& e) : e_(e) {}

  void unpack(const ir::Parameter& parameter) {
    const ir::Type& type = parameter.value->type;
    if (type.kind == ir::Type::Kind::view) {
      View view{.base = pointer(), .extents = {}, .strides = {}};
      for (int i = 0; i < type.rank; ++i) view.extents.push_back(next());
      for (int i = 0; i < type.rank; ++i) view.strides.push_back(next());
      if (const int axis = parameter.facts.unit_stride_axis; axis >= 0)
        view.strides[size_t(axis)] = e_.i64(1);
      e_.views[parameter.value] = std::move(view);
    } else if (type.kind == ir::Type::Kind::pointer) {
      e_.scalars[parameter.value] = pointer();
    } else {
      e_.scalars[parameter.value] = scalar(type.element);
    }
  }
  Value* next() { return e_.entry->getArg(index_++); }

 private:
  Value* pointer() { return e_.builder.CreateIntToPtr(next(), e_.builder.getPtrTy(kGlobal)); }
  Value* scalar(DType element) {
    auto& b = e_.builder;
    Value* bits = b.CreateTrunc(next(), b.getIntNTy(unsigned(size_bytes(element) * 8)));
    if (element == DType::i1) return b.CreateICmpNE(bits, b.getInt8(0));
    return b.CreateBitCast(bits, e_.element_type(element));
  }

  Emitter& e_;
  unsigned index_ = 0;
};

void annotate(Emitter& e, const char* what, int64_t value) {
  auto& context = e.module.getContext();
  llvm::Metadata* parts[] = {llvm::ValueAsMetadata::get(e.entry), llvm::MDString::get(context, what),
                             llvm::ConstantAsMetadata::get(e.i32(value))};
  e.module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, parts));
}

void emit_entry(Emitter& e) {
  auto& b = e.builder;
  const int64_t slots = slot_count(e.function) + kWorkParamCount + 1;
  llvm::FunctionType* type =
      llvm::FunctionType::get(b.getVoidTy(), std::vector<llvm::Type*>(size_t(slots), b.getInt64Ty()), false);
  e.entry =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry_name(e.function.name), e.module);
  e.entry->addFnAttr(llvm::Attribute::NoUnwind);
  annotate(e, "kernel", 1);
  annotate(e, "reqntidx", int64_t(e.function.warps) * 32);
  annotate(e, "minctasm", e.function.ctas);
  e.shared = new llvm::GlobalVariable(e.module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "heddle_shared", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kShared);
  e.shared->setAlignment(llvm::Align(128));

  e.prologue = e.new_block("entry");
  llvm::BasicBlock *body = e.new_block("body"), *exit = e.new_block("exit");
  b.SetInsertPoint(e.prologue);
  e.thread = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
  Arguments arguments(e);
  for (const ir::Parameter& parameter : e.function.parameters) arguments.unpack(parameter);
  for (int i = 0; i < kWorkParamCount; ++i) e.work_params.push_back(arguments.next());
  Value* workers = arguments.next();
  const auto special = [&](llvm::Intrinsic::ID id) {
    return b.CreateZExt(b.CreateIntrinsic(id, {}, {}), b.getInt64Ty());
  };
  e.worker = b.CreateAdd(b.CreateMul(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y),
                                     special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x)),
                         special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  b.CreateCondBr(b.CreateICmpULT(e.worker, workers), body, exit);
  b.SetInsertPoint(body);
  emit_region(e, e.function.body);
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
  b.CreateRetVoid();
}

struct Built {
  std::unique_ptr<llvm::Module> module;
  std::string entry;
};

Built build(const ir::Function& program, llvm::LLVMContext& context, llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>("kernel", context);
  prepare_module(*module, machine);
  Emitter e(program, *module);
  emit_entry(e);
  // What only the narrow side of an access needs is computed there, and keeps no register on the wide side.
  optimise(*module, machine, Sinking::yes);
  return {.module = std::move(module), .entry = e.entry->getName().str()};
}

}  // namespace

}  // namespace nvptx

GpuKernel compile_ptx(const ir::Function& program, int sm) {
  LlvmErrors errors("compile kernel '" + program.name + "'");
  llvm::LLVMContext context;
  errors.watch(context);
  const std::unique_ptr<llvm::TargetMachine> machine = nvptx::make_target_machine(sm);
  nvptx::Built built = nvptx::build(program, context, *machine);
  return {.ptx = print_assembly(*built.module, *machine),
          .entry = std::move(built.entry),
          .threads = program.warps * 32,
          .shared_bytes = program.shared_bytes};
}

std::string print_ptx_llvm(const ir::Function& program, int sm) {
  LlvmErrors errors("compile kernel '" + program.name + "'");
  llvm::LLVMContext context;
  errors.watch(context);
  const std::unique_ptr<llvm::TargetMachine> machine = nvptx::make_target_machine(sm);
  return print_module(*nvptx::build(program, context, *machine).module);
}

std::string ptx_identity(int sm) {
  return fmt::format("nvptx sm_{} {} llvm {}", nvptx::ptx_target(sm), nvptx::kPtxVersion,
                     LLVM_VERSION_STRING);
}

}  // namespace heddle::codegen
