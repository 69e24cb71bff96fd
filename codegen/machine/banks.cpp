#include "codegen/machine/banks.h"

#include <algorithm>

namespace heddle::codegen {

namespace {
constexpr int64_t kBanks = 32, kWordBytes = 4, kPassBytes = kBanks * kWordBytes;
}

BankPasses bank_passes(const WarpAccess& access) {
  const int lanes = int(std::min<int64_t>(32, kPassBytes / access.bytes));  // of a phase
  BankPasses passes;
  for (int first = 0; first < 32; first += lanes) {
    std::array<int64_t, 32> words;  // different ones
    std::array<int, kBanks> of_bank{};
    int count = 0;
    for (int lane = first; lane < first + lanes; ++lane) {
      if (!access.address[size_t(lane)]) continue;
      const int64_t start = *access.address[size_t(lane)];
      for (int64_t word = start / kWordBytes; word * kWordBytes < start + access.bytes; ++word) {
        if (std::find(words.begin(), words.begin() + count, word) != words.begin() + count) continue;
        words[size_t(count++)] = word;
        ++of_bank[size_t(word % kBanks)];
      }
    }
    passes.needed += count > 0;
    passes.taken += *std::max_element(of_bank.begin(), of_bank.end());
  }
  return passes;
}

}  // namespace heddle::codegen
