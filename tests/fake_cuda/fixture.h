// What the tests against the fake driver share.
#pragma once

#include <doctest/doctest.h>
#include <heddle/heddle.h>

#include <string>

#include "tests/fake_cuda/control.h"

namespace fake {

// The fake driver's controls; the first call makes the library open the driver.
struct Controls {
#define FAKE_CUDA_ROW(result, name, parameters) result(*name) parameters = nullptr;
  FAKE_CUDA_CONTROLS(FAKE_CUDA_ROW)
#undef FAKE_CUDA_ROW
};
const Controls& cuda();

FakeObjects objects();
FakeLaunch last_launch();

// The Error that `attempt` throws; kind internal and no message where it throws none.
struct Problem {
  heddle::ErrorKind kind = heddle::ErrorKind::internal;
  std::string message;
  heddle::Location where;
  bool has(const std::string& part) const { return message.find(part) != std::string::npos; }
};
template <class Attempt>
Problem problem_of(Attempt attempt) {
  try {
    attempt();
  } catch (const heddle::Error& error) {
    return {error.kind(), error.message(), error.where()};
  }
  return {};
}

// No failures, counts and launches of an earlier case, no current context, and none left behind.
class Fresh {
 public:
  Fresh() { clear(); }
  ~Fresh() { clear(); }

 private:
  void clear() {
    cuda().clear();
    cuda().make_current(-1);
  }
};

}  // namespace fake
