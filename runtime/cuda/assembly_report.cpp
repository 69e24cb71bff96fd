// ptxas writes (the driver's log holds the same lines)
//
//   ptxas info    : Compiling entry function 'heddle_add' for 'sm_90'
//   ptxas info    : Function properties for heddle_add
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 8 registers, used 0 barriers, 1024 bytes smem
//
// and for remarks, one line each,
//
//   ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized ...
//   ptxas warning : Value of threads per SM for entry heddle_add is out of range
//
// The linker of a driver may say, in the place of the third and fourth,
//
//   info    : used 8 registers, 0 stack, 0 bytes smem, 328 bytes cmem[0], 0 bytes lmem
#include "runtime/cuda/assembly_report.h"

#include <algorithm>
#include <charconv>

namespace heddle::runtime::cuda {
namespace {

// The number before `unit` in a list such as "Used 8 registers, 1024 bytes smem"; -1 where there is none.
int64_t number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == line.npos) return -1;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t value = -1;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

void note(int64_t& field, int64_t value) {
  if (value >= 0) field = value;
}

bool is_remark(std::string_view line) {
  return line.find("warning ") != line.npos || line.find("(C7") != line.npos;
}

}  // namespace

AssemblyReport read_assembly_report(std::string_view log, std::string_view entry) {
  AssemblyReport report;
  bool ours = true;  // until another function's part begins
  while (!log.empty()) {
    const size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == log.npos ? log.size() : end + 1);
    if (is_remark(line)) {
      const size_t colon = line.find(": ");
      report.remarks.emplace_back(line.substr(colon == line.npos ? 0 : colon + 2));
      continue;
    }
    for (const std::string_view title : {"Compiling entry function '", "Function properties for "})
      if (const size_t at = line.find(title); at != line.npos) {
        std::string_view name = line.substr(at + title.size());
        if (name.starts_with('\'')) name.remove_prefix(1);
        ours = name.starts_with(entry) && (name.size() == entry.size() ||
                                           std::string_view("':. ").find(name[entry.size()]) != name.npos);
      }
    if (!ours) continue;
    note(report.stack_bytes, number_before(line, " bytes stack frame"));
    note(report.stack_bytes, number_before(line, " stack,"));
    note(report.spill_store_bytes, number_before(line, " bytes spill stores"));
    note(report.spill_load_bytes, number_before(line, " bytes spill loads"));
    if (const int64_t registers = number_before(line, " registers"); registers >= 0) {
      report.registers = int(registers);
      report.shared_bytes = std::max<int64_t>(0, number_before(line, " bytes smem"));  // left out where 0
    }
  }
  return report;
}

}  // namespace heddle::runtime::cuda
