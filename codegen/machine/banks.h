// What a warp's access to shared memory costs. 32 banks serve one 4-byte word each at a time (CUDA C++
// Programming Guide, "Shared Memory" of compute capability 5.x and later); lanes that want the same word
// share it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace heddle::codegen {

// One instruction of one warp, a load, store, ldmatrix or cp.async, which cost alike: the byte each lane
// starts at, if it takes part. Eight lanes of an ldmatrix name the rows of one 8 x 8 matrix.
struct WarpAccess {
  int64_t bytes = 4;  // a lane: 1, 2, 4, 8 or 16
  std::array<std::optional<int64_t>, 32> address;
};

// Accesses of 8 bytes are served in two halves of the warp, of 16 bytes in four quarters. A phase takes as
// many passes as there are different words of one bank in it.
struct BankPasses {
  int needed = 0;  // phases: passes where no bank is asked twice
  int taken = 0;
  int conflicts() const { return taken - needed; }
};
BankPasses bank_passes(const WarpAccess& access);

}  // namespace heddle::codegen
