#include "codegen/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

namespace heddle::codegen {
namespace {

struct Search {
  uintptr_t address;  // of anything inside our own object
  std::string id;     // hexadecimal, empty until found
};

std::string read_build_id(const char* notes, size_t bytes) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const char* name = notes + at + sizeof note;
    const char* id = name + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string hex;
      for (size_t i = 0; i < note.n_descsz; ++i)
        hex += fmt::format("{:02x}", static_cast<unsigned char>(id[i]));
      return hex;
    }
    at = (id - notes) + (note.n_descsz + 3) / 4 * 4;
  }
  return {};
}

int visit_object(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool ours = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address >= begin && search->address < begin + segment.p_memsz)
      ours = true;
  }
  if (!ours) return 0;
  for (int i = 0; i < object->dlpi_phnum && search->id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search->id =
          read_build_id(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& build_identity() {
  static const std::string& identity = []() -> const std::string& {
    Search search{.address = reinterpret_cast<uintptr_t>(&visit_object), .id = {}};
    dl_iterate_phdr(visit_object, &search);
    // Never destroyed: kernels may be launched from destructors of static objects.
    return *new std::string(fmt::format("heddle {} build {}", HEDDLE_VERSION, search.id));
  }();
  return identity;
}

}  // namespace heddle::codegen
