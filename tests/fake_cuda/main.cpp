// Entry of the tests against the fake driver. Each run has a kernel cache of its own, unless one is given.
#define DOCTEST_CONFIG_IMPLEMENT
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/fake_cuda/fixture.h"
#include "tests/support/temporary_folder.h"

namespace fake {

const Controls& cuda() {
  static const Controls controls = [] {
    heddle::Device::open("auto");
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    Controls found;
#define FAKE_CUDA_ROW(result, name, parameters)                                                         \
  found.name =                                                                                          \
      library ? reinterpret_cast<decltype(found.name)>(::dlsym(library, "fake_cuda_" #name)) : nullptr; \
  if (!found.name)                                                                                      \
    throw std::runtime_error("run by ctest, which puts the fake libcuda.so.1 on LD_LIBRARY_PATH");
    FAKE_CUDA_CONTROLS(FAKE_CUDA_ROW)
#undef FAKE_CUDA_ROW
    return found;
  }();
  return controls;
}

FakeObjects objects() {
  FakeObjects result;
  cuda().objects(&result);
  return result;
}

FakeLaunch last_launch() {
  FakeLaunch result = {};
  REQUIRE(cuda().launch(cuda().launches() - 1, &result));
  return result;
}

}  // namespace fake

int main(int count, char** arguments) {
  const heddle::test::TemporaryFolder folder;
  ::setenv("HEDDLE_CACHE_DIR", folder.path().c_str(), 0);
  return doctest::Context(count, arguments).run();
}
