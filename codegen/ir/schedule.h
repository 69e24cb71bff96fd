// Schedule: how a kernel's work is spread over the machine, as plain data. Prints, parses, compares; a search
// space is a list of them. Public; light.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "codegen/ir/export.h"
#include "codegen/ir/location.h"

namespace heddle {

// A dim bound to a number: what `BM = 128` yields.
struct DimBinding {
  const char* name = "";  // a launch copies it; the caller's must live as long as this binding
  int64_t value = 0;
  Location where{};  // not compared
};

// The numbers of a kernel's dims. Binding one twice, or more than kMax, is reported when the schedule is
// used.
struct Dims {
  static constexpr int kMax = 24;
  DimBinding bindings[kMax] = {};
  int count = 0;  // may exceed kMax: then the list was too long

  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<DimBinding> list) {
    for (const DimBinding& binding : list) add(binding);
  }
  constexpr void add(const DimBinding& binding) {
    if (count < kMax) {
      bindings[count] = binding;
      if (!binding.name) bindings[count].name = "";  // which no dim is called
    }
    ++count;
  }
  HEDDLE_API const DimBinding* find(const char* name) const&;       // null where absent
  const DimBinding* find(const char* name) const&& = delete;        // it would point into what is gone
  HEDDLE_API friend bool operator==(const Dims& a, const Dims& b);  // same names and numbers, in any order
};

// How workers that share a tile's reduction put their partial states together (docs/schedules.md).
enum class Fixup : uint8_t { automatic, handoff, turnstile, slots, cluster, two_pass, atomic };

// One program instance a tile.
struct data_parallel {};
// About one worker a multiprocessor, each walking many tiles. workers 0 = as many as the device runs at once.
struct persistent {
  int64_t workers = 0;
  bool dynamic = false;  // tiles fetched from a counter, not dealt out beforehand
};
// `parts` workers share each tile's reduction.
struct split_k {
  int64_t parts = 1;
  Fixup fixup = Fixup::automatic;
};
// Equal runs of reduction steps across workers, with a data-parallel part.
struct stream_k {
  int64_t workers = 0;
  int64_t min_steps = 1;
  Fixup fixup = Fixup::automatic;
};

struct Work {
  enum class Kind : uint8_t { data_parallel, persistent, split_k, stream_k };
  Kind kind = Kind::data_parallel;
  int64_t workers = 0;
  bool dynamic = false;
  int64_t parts = 1;
  int64_t min_steps = 1;
  Fixup fixup = Fixup::automatic;

  constexpr Work() = default;
  constexpr Work(data_parallel) {}
  constexpr Work(persistent p) : kind(Kind::persistent), workers(p.workers), dynamic(p.dynamic) {}
  constexpr Work(split_k s) : kind(Kind::split_k), parts(s.parts), fixup(s.fixup) {}
  constexpr Work(stream_k s)
      : kind(Kind::stream_k), workers(s.workers), min_steps(s.min_steps), fixup(s.fixup) {}
  friend constexpr bool operator==(const Work&, const Work&) = default;
};

// The order in which tiles of the work space are taken. `grouped{g}` walks g tiles along the first axis
// before moving along the second, so that neighbours share operands in cache; a batch axis stays outermost.
struct row {};
struct grouped {
  int64_t size = 8;
};
struct serpentine {
  int64_t size = 8;
};
struct hilbert {};
enum class Raster : uint8_t { along_rows, along_columns };

struct Order {
  enum class Kind : uint8_t { row, grouped, serpentine, hilbert };
  Kind kind = Kind::row;
  int64_t size = 0;  // of a group
  Raster raster = Raster::along_rows;

  constexpr Order() = default;
  constexpr Order(row) {}
  constexpr Order(grouped g) : kind(Kind::grouped), size(g.size) {}
  constexpr Order(serpentine s) : kind(Kind::serpentine), size(s.size) {}
  constexpr Order(hilbert) : kind(Kind::hilbert) {}
  friend constexpr bool operator==(const Order&, const Order&) = default;
};

enum class Engine : uint8_t { automatic, tma, cp_async, plain };

// How operands of a loop travel: a ring of `stages` buffers. 0 = chosen by rule.
struct pipeline {
  int64_t stages = 0;
  Engine engine = Engine::automatic;
  friend constexpr bool operator==(const pipeline&, const pipeline&) = default;
};

// Every warp does the same. 0 = chosen by rule.
struct uniform {
  int64_t warps = 0;
  int64_t ctas_per_sm = 0;
};
enum class Sharing : uint8_t { cooperative, pingpong };
// Producer and consumer roles, both counted in warpgroups. registers 0 = chosen by rule.
struct warp_specialize {
  int64_t producers = 1;
  int64_t consumers = 2;
  Sharing sharing = Sharing::cooperative;
  int64_t registers = 0;
};

struct Warps {
  enum class Kind : uint8_t { uniform, warp_specialize };
  Kind kind = Kind::uniform;
  int64_t warps = 0;
  int64_t ctas_per_sm = 0;
  int64_t producers = 0;
  int64_t consumers = 0;
  Sharing sharing = Sharing::cooperative;
  int64_t registers = 0;

  constexpr Warps() = default;
  constexpr Warps(uniform u) : warps(u.warps), ctas_per_sm(u.ctas_per_sm) {}
  constexpr Warps(warp_specialize w)
      : kind(Kind::warp_specialize),
        producers(w.producers),
        consumers(w.consumers),
        sharing(w.sharing),
        registers(w.registers) {}
  friend constexpr bool operator==(const Warps&, const Warps&) = default;
};

struct Cluster {
  int64_t m = 1;
  int64_t n = 1;
  bool multicast = true;
  friend constexpr bool operator==(const Cluster&, const Cluster&) = default;
};

struct Epilogue {
  enum class Store : uint8_t { automatic, tma, plain };
  int64_t subtile = 0;  // columns stored at a time; 0 = chosen by rule
  bool overlap = false;
  Store store = Store::automatic;
  friend constexpr bool operator==(const Epilogue&, const Epilogue&) = default;
};

// What is promised about bits. A schedule that would break the promise is refused.
struct Numerics {
  enum class Kind : uint8_t {
    reproducible,  // the same bits from run to run
    linear,        // one chain in K order: the same bits for every schedule
    chunks,        // `count` chains, folded in order
    any,           // atomics allowed
  };
  Kind kind = Kind::reproducible;
  int64_t count = 0;
  friend constexpr bool operator==(const Numerics&, const Numerics&) = default;
};
inline constexpr Numerics reproducible{};
inline constexpr Numerics linear{.kind = Numerics::Kind::linear};
constexpr Numerics chunks(int64_t count) {
  return {.kind = Numerics::Kind::chunks, .count = count};
}

struct Schedule {
  Dims dims{};
  Work work{};
  Order order{};
  pipeline loads{};
  Warps warps{};
  Cluster cluster{};
  Epilogue epilogue{};
  bool swap_ab = false;
  bool pdl = false;
  Numerics numerics{};

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Text and JSON forms. Fields at their defaults are left out; parsing what was printed gives an equal
// schedule.
//   text  "BM=128, BN=256, BK=64, work=persistent{workers=132}, order=grouped{8}"
//   JSON  {"dims": {"BM": 128}, "work": {"persistent": {"workers": 132}}, "order": {"grouped": 8}}
// The writers fill `buffer` as snprintf does and return the length that was needed, without the final NUL.
// The parsers throw Error (kind parse) naming the offending word and what is allowed there.
HEDDLE_API int64_t print(const Schedule& schedule, char* buffer, int64_t size);
HEDDLE_API int64_t print_json(const Schedule& schedule, char* buffer, int64_t size);
HEDDLE_API Schedule parse_schedule(const char* text);  // either form

}  // namespace heddle
