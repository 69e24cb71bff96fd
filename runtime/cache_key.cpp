#include "runtime/cache_key.h"

#include <fmt/format.h>

#include <memory>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heddle::runtime {
namespace {

constexpr uint64_t kKeySeed = 0;
constexpr uint64_t kChecksumSeed = 0x48454444'4c452121;

Key to_key(XXH128_hash_t hash) {
  return {.hi = hash.high64, .lo = hash.low64};
}

}  // namespace

std::string Key::hex() const {
  return fmt::format("{:016x}{:016x}", hi, lo);
}

std::string key_text(std::initializer_list<KeyInput> inputs) {
  std::string text;
  for (const KeyInput& input : inputs)
    text += fmt::format("{} ({} bytes): {}\n", input.name, input.value.size(), input.value);
  return text;
}

Key key_of(std::string_view key_text) {
  return to_key(XXH3_128bits_withSeed(key_text.data(), key_text.size(), kKeySeed));
}

Key checksum_of(std::string_view first, std::string_view second) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_128bits_reset_withSeed(state.get(), kChecksumSeed);
  XXH3_128bits_update(state.get(), first.data(), first.size());
  XXH3_128bits_update(state.get(), second.data(), second.size());
  return to_key(XXH3_128bits_digest(state.get()));
}

}  // namespace heddle::runtime
