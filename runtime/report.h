// What the calling thread's last launch cost and found, while it is gathered.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/executable.h"
#include "runtime/launch.h"

namespace heddle::runtime {

struct ThreadReport {
  LaunchReport report;
  uint64_t variant = 0;  // whose schedule the report holds, by number: a repeated launch copies none

  // A repeated launch, which made nothing, finds nothing to clear.
  void begin() {
    if (report.compiled_now || report.trace_ms != 0) clear();
  }
  void set_schedule(uint64_t number, const Schedule& schedule) {
    if (variant == number) return;
    report.schedule = schedule;
    variant = number;
  }
  void made(const CodeOrigin& origin, double compile_ms);

 private:
  void clear();
};
extern constinit thread_local ThreadReport thread_report;
// Nothing to destroy: static destructors launch after the main thread's own objects are gone.
static_assert(std::is_trivially_destructible_v<ThreadReport>);

// Logs what was made for this thread's launch. To be called with no lock held: a log sink may launch.
void log_made(const KernelSource& source, Device device, const std::vector<std::string>& remarks,
              Location where);

}  // namespace heddle::runtime
