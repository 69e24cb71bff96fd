// A repeated launch asks the system for no memory. Over the idle fake driver, which takes none either.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/fake_cuda/kernels.h"

namespace {
std::atomic<int> allocations{0};
}

// Of the library too, which finds the program's. All forms that the two operators delete may be asked to
// undo: a sanitizer has forms of its own.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

using namespace heddle;

TEST_CASE("repeat: a launch allocates nothing, under a schedule or by rule") {
  Stream stream(Device::cuda(0));
  f32* memory = fake::memory();
  const TensorRef<f32, 2> view(memory, {30, 30});
  const Schedule schedule{.dims = {fake::BLOCK = 16}};
  const auto run = [&] {
    fake::add<50>.grid(3)(stream, memory, memory + 4, 100);
    fake::scale<50>.with(schedule)(stream, view, view);
    fake::scale<50>(stream, view, view);
  };
  const int start = allocations;
  run();
  const int first = allocations - start;
  for (int i = 0; i < 10; ++i) run();
  CHECK(first > 100);  // the library's are counted
  CHECK(allocations == start + first);
}
