// Objects of static storage that outlive the driver: their destructors call it no more. Those made after the
// driver was opened go before it, and give back what they hold. The fake driver ends the process with 9 when
// it is called after its own exit handlers.
#include <dlfcn.h>
#include <heddle/heddle.h>
#include <unistd.h>

#include <optional>

#include "tests/fake_cuda/control.h"

namespace {

using namespace heddle;

void (*objects)(FakeObjects*) = nullptr;

// Destroyed last.
struct Last {
  ~Last() {
    FakeObjects left = {};
    if (objects) objects(&left);
    // `early` could not be freed any more; `late` was.
    if (left.blocks != 1 || left.streams < 1) _exit(1);
  }
} last;

// Destroyed after the driver was.
std::optional<Stream> stream;
Buffer<f32> early;
const Kernel add_one{"add_one", [](Ptr<f32> out) {
                       auto at = arange<32>();
                       store(out + at, load(out + at) + 1.0f);
                     }};
struct LaunchesAtExit {
  ~LaunchesAtExit() {
    try {
      add_one(*stream, early.data());
      _exit(2);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) _exit(3);
    }
  }
} launches_at_exit;

}  // namespace

int main() {
  stream.emplace(Device::cuda(0));
  static Buffer<f32> late(Device::cuda(0), 64);
  early = Buffer<f32>(Device::cuda(0), 64);
  add_one(*stream, early.data());
  add_one(*stream, late.data());
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  objects = library ? reinterpret_cast<decltype(objects)>(dlsym(library, "fake_cuda_objects")) : nullptr;
  return objects ? 0 : 4;
}
