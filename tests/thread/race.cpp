// Program instances that add to a block of memory each, or all to the same: for the thread sanitizer to tell
// apart.
#include <heddle/heddle.h>

#include <cstdio>
#include <string_view>
#include <vector>

using namespace heddle;

HEDDLE_DIM(BLOCK);

template <class T>
const Kernel touch{"touch", [](Ptr<T> memory, Scalar<i64> apart) {
                     auto i = program_id(0) * apart + arange<BLOCK>();
                     for ([[maybe_unused]] auto turn : range(constant<i64>(200)))
                       store(memory + i, load(memory + i) + constant<T>(1));
                   }};

template <class T>
int run(bool own) {
  constexpr int64_t kBlock = 64, kInstances = 64;
  std::vector<T> memory(static_cast<size_t>(kBlock * kInstances));
  Stream stream(Device::cpu(), 4);
  touch<T>.with({.dims = {BLOCK = kBlock}}).grid(kInstances)(stream, memory.data(), own ? kBlock : 0);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view type = argv[1];
  const bool own = std::string_view(argv[2]) == "own";
  if (type == "i8") return run<i8>(own);
  if (type == "i64") return run<i64>(own);
  if (type == "f32") return run<f32>(own);
  if (type == "f64") return run<f64>(own);
  return 2;
}
