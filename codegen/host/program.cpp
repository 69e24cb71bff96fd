// Loads an object into memory: one mapping, writable while it is linked, then code executable and read-only.
// RuntimeDyld alone, without ORC around it: a cached kernel is running a fraction of a millisecond later.
#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITSymbol.h>
#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Memory.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "codegen/host/compile.h"
#include "codegen/host/host.h"
#include "codegen/ir/fail.h"
#include "codegen/llvm/errors.h"

namespace heddle::codegen {

namespace {

// What compiled code may call, by the name it uses. Named here because a search of the process fails when the
// library was opened privately (RTLD_LOCAL). The f64 fma is for processors without one.
struct Import {
  const char* name;
  void* address;
};
const Import kImports[] = {
    {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
    {"memmove", reinterpret_cast<void*>(&std::memmove)},
    {"memset", reinterpret_cast<void*>(&std::memset)},
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&std::fma))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&std::fma))},
};

// One private mapping: [code | read-only data | data], each part from a page's start.
class Pages final : public llvm::RuntimeDyld::MemoryManager {
 public:
  ~Pages() override {
    if (base_) munmap(base_, bytes_);
  }

  bool needsToReserveAllocationSpace() override { return true; }

  void reserveAllocationSpace(uintptr_t code, llvm::Align code_align, uintptr_t constants,
                              llvm::Align constants_align, uintptr_t data, llvm::Align data_align) override {
    parts_[0] = {.bytes = round_up(code + code_align.value())};
    parts_[1] = {.bytes = round_up(constants + constants_align.value())};
    parts_[2] = {.bytes = round_up(data + data_align.value())};
    for (Part& part : parts_) {
      part.begin = bytes_;
      bytes_ += part.bytes;
    }
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      fail(ErrorKind::unsupported, {}, "no memory for {} bytes of compiled code: {}", bytes_,
           std::strerror(errno));
    base_ = static_cast<char*>(memory);
  }

  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef) override {
    return take(parts_[0], size, align);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef,
                               bool read_only) override {
    return take(parts_[read_only ? 1 : 2], size, align);
  }

  bool finalizeMemory(std::string* message) override {
    const int protections[] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int i = 0; i < 3; ++i)
      if (parts_[i].bytes && mprotect(base_ + parts_[i].begin, parts_[i].bytes, protections[i])) {
        *message = std::strerror(errno);
        return true;
      }
    llvm::sys::Memory::InvalidateInstructionCache(base_ + parts_[0].begin, parts_[0].bytes);
    return false;
  }

  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}  // compiled code never unwinds
  void deregisterEHFrames() override {}

 private:
  struct Part {
    size_t begin = 0, bytes = 0, used = 0;
  };

  static size_t round_up(size_t bytes) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
  }

  uint8_t* take(Part& part, size_t size, size_t align) {
    part.used = (part.used + align - 1) / align * align;
    if (part.used + size > part.bytes)
      fail(ErrorKind::internal, {}, "an object's section of {} bytes exceeds the {} bytes reserved", size,
           part.bytes);
    uint8_t* at = reinterpret_cast<uint8_t*>(base_ + part.begin + part.used);
    part.used += size;
    return at;
  }

  char* base_ = nullptr;
  size_t bytes_ = 0;
  Part parts_[3];
};

class Imports final : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    for (const Import& import : kImports)
      if (name == import.name) return at(import.address);
#ifdef HEDDLE_TSAN
    if (name.rfind("__tsan_", 0) == 0)
      if (void* address = dlsym(RTLD_DEFAULT, name.c_str())) return at(address);
#endif
    return nullptr;
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }

 private:
  static llvm::JITSymbol at(void* address) {
    return {llvm::JITTargetAddress(reinterpret_cast<uintptr_t>(address)), llvm::JITSymbolFlags::Exported};
  }
};

class LoadedProgram final : public HostProgram {
 public:
  explicit LoadedProgram(const std::string& code) {
    const LlvmErrors errors("load a kernel's code");
    const llvm::MemoryBufferRef buffer(code, "kernel");
    auto object = llvm::object::ObjectFile::createObjectFile(buffer);
    if (!object)
      fail(ErrorKind::compile, {}, "compiled code is no object file: {}", llvm::toString(object.takeError()));
    Imports imports;
    llvm::RuntimeDyld linker(pages_, imports);
    const auto information = linker.loadObject(**object);
    if (information && !linker.hasError()) linker.resolveRelocations();
    if (!information || linker.hasError())
      fail(ErrorKind::compile, {}, "compiled code does not link: {}", linker.getErrorString().str());
    std::string message;
    if (pages_.finalizeMemory(&message))
      fail(ErrorKind::unsupported, {}, "this system forbids executable memory: {}", message);
    entry_ = reinterpret_cast<HostEntry>(uintptr_t(linker.getSymbol(host::kEntryName).getAddress()));
    if (!entry_) fail(ErrorKind::compile, {}, "compiled code has no function {}", host::kEntryName);
  }

  HostEntry entry() const override { return entry_; }

 private:
  Pages pages_;
  HostEntry entry_ = nullptr;
};

}  // namespace

std::unique_ptr<HostProgram> HostProgram::load(const HostObject& object) {
  return std::make_unique<LoadedProgram>(object.code);
}

}  // namespace heddle::codegen
