// Runs a kernel on every device under many schedules and holds each result against three promises: the same
// bits as the interpreter, a reference loop within a bound, and no byte touched outside the outputs.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/heddle.h"

namespace kernels {

// How a tensor lies in memory. R = 1: the stride is 1, 1, 2, -1.
enum class Layout { packed, gapped, transposed, reversed };

// What a reference loop expects of an element. A NaN expects NaN, an infinity itself.
struct Expected {
  double value = 0;
  double bound = 0;
};

std::vector<heddle::Device> devices();  // the interpreter first: it is the oracle of the others

// `tiles` gives the dims. The first is run by every kind of work, the others by three workers; in grouped
// order too where `two_axes` says that the kernel's work space has two axes.
std::vector<heddle::Schedule> spread(const std::vector<heddle::Schedule>& tiles, bool two_axes);

std::string text(const heddle::Schedule& schedule);

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents, Layout layout);

// The problem with `value`, in words; empty when it is what was expected.
std::string difference(double value, const Expected& expected);

// A tensor on the host, between guards. Elements are addressed in logical order whatever their layout. It is
// an output once an element was expected; all else must stay as it is.
template <class T, int R>
class Tensor {
 public:
  using Index = std::array<int64_t, size_t(R)>;

  explicit Tensor(Index extents, Layout layout = Layout::packed) : extents_(extents) {
    const std::vector<int64_t> strides = strides_of({extents.begin(), extents.end()}, layout);
    int64_t low = 0, high = 0;
    for (size_t axis = 0; axis < size_t(R); ++axis) {
      strides_[axis] = strides[axis];
      const int64_t reach = strides[axis] * std::max<int64_t>(0, extents[axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
    if (layout == Layout::packed || layout == Layout::transposed) guard_ = 64;
    origin_ = guard_ - low;
    image_.resize(size_t(high - low + 1 + 2 * guard_));
    live_.resize(image_.size());
    unsigned char* bytes = reinterpret_cast<unsigned char*>(image_.data());
    for (size_t i = 0; i < image_.size() * sizeof(T); ++i)
      bytes[i] = static_cast<unsigned char>(0xC3 ^ (i * 37));
    each([&](Index i) { live_[offset(i)] = true, image_[offset(i)] = T(0); });
  }

  int64_t extent(int axis) const { return extents_[size_t(axis)]; }
  const Index& extents() const { return extents_; }
  const std::vector<T>& image() const { return image_; }

  template <class... I>
  T& operator()(I... i) {
    return image_[offset(Index{int64_t(i)...})];
  }
  template <class... I>
  double value(I... i) const {
    return double(image_[offset(Index{int64_t(i)...})]);
  }
  template <class... I>
  void expect(double value, double bound, I... i) {
    expected_.resize(image_.size());
    expected_[offset(Index{int64_t(i)...})] = {value, bound};
  }

  // Calls body with every index, the last axis fastest.
  template <class Body>
  void each(Body body) const {
    for (int64_t extent : extents_)
      if (extent == 0) return;
    for (Index i{};;) {
      body(i);
      int axis = R - 1;
      while (axis >= 0 && ++i[size_t(axis)] == extents_[size_t(axis)]) i[size_t(axis--)] = 0;
      if (axis < 0) return;
    }
  }

  heddle::TensorRef<T, R> at(T* data) const { return at(data, std::make_index_sequence<size_t(R)>()); }
  T* first(T* data) const { return data + origin_; }
  int64_t stride(int axis) const { return strides_[size_t(axis)]; }

  // The first thing wrong with what a launch left in memory.
  std::string check(const std::vector<T>& found) const {
    for (size_t i = 0; i < image_.size(); ++i)
      if ((expected_.empty() || !live_[i]) && std::memcmp(&found[i], &image_[i], sizeof(T)) != 0)
        return "memory was changed " + std::to_string(int64_t(i) - origin_) + " from the first element" +
               (live_[i] ? ", in an input" : ", outside the elements");
    std::string problem;
    if (!expected_.empty())
      each([&](Index i) {
        if (!problem.empty()) return;
        problem = difference(double(found[offset(i)]), expected_[offset(i)]);
        if (!problem.empty()) problem = name(i) + problem;
      });
    return problem;
  }

  // The first element whose bits differ; one NaN is as good as another.
  std::string compare(const std::vector<T>& found, const std::vector<T>& oracle) const {
    std::string problem;
    each([&](Index i) {
      const T &x = found[offset(i)], &y = oracle[offset(i)];
      if (!problem.empty() || std::memcmp(&x, &y, sizeof(T)) == 0) return;
      if (std::isnan(double(x)) && std::isnan(double(y))) return;
      char line[96];
      std::snprintf(line, sizeof line, "%a, and %a by the interpreter", double(x), double(y));
      problem = name(i) + line;
    });
    return problem;
  }

 private:
  template <size_t... I>
  heddle::TensorRef<T, R> at(T* data, std::index_sequence<I...>) const {
    return heddle::TensorRef<T, R>(data + origin_, {extents_[I]...}, {strides_[I]...});
  }

  // Elements, more than a vector register holds. Packed and transposed memory is aligned, the rest is not.
  int64_t guard_ = 67;

  size_t offset(const Index& i) const {
    int64_t sum = origin_;
    for (size_t axis = 0; axis < size_t(R); ++axis) sum += i[axis] * strides_[axis];
    return size_t(sum);
  }
  std::string name(const Index& i) const {
    std::string out = "[";
    for (size_t axis = 0; axis < size_t(R); ++axis) out += (axis ? ", " : "") + std::to_string(i[axis]);
    return out + "] = ";
  }

  Index extents_, strides_;
  int64_t origin_ = 0;
  std::vector<T> image_;
  std::vector<bool> live_;
  std::vector<Expected> expected_;
};

// Passes a tensor to a Ptr parameter.
template <class T, int R>
struct Pointer {
  const Tensor<T, R>& tensor;
};
template <class T, int R>
Pointer<T, R> pointer(const Tensor<T, R>& tensor) {
  return {tensor};
}

// An argument of one launch: memory of the device that holds a tensor's image, or a scalar.
template <class T, int R, bool View>
struct Loaned {
  const Tensor<T, R>& tensor;
  heddle::Buffer<T> buffer;
  std::vector<T> found;

  Loaned(heddle::Stream& stream, const Tensor<T, R>& from)
      : tensor(from), buffer(stream.device(), int64_t(from.image().size())), found(from.image().size()) {
    buffer.upload(stream, from.image().data());
  }
  auto argument() {
    if constexpr (View)
      return tensor.at(buffer.data());
    else
      return tensor.first(buffer.data());
  }
  void fetch(heddle::Stream& stream) { buffer.download(stream, found.data()); }
  std::string check() const { return tensor.check(found); }
  std::string compare(const Loaned& oracle) const { return tensor.compare(found, oracle.found); }
};
template <class T>
struct Passed {
  T value;
  Passed(heddle::Stream&, T from) : value(from) {}
  T argument() const { return value; }
  void fetch(heddle::Stream&) {}
  std::string check() const { return {}; }
  std::string compare(const Passed&) const { return {}; }
};

template <class A>
struct LoanOf {
  using type = Passed<A>;
  static A from(A argument) { return argument; }
};
template <class T, int R>
struct LoanOf<Tensor<T, R>> {
  using type = Loaned<T, R, true>;
  static const Tensor<T, R>& from(const Tensor<T, R>& argument) { return argument; }
};
template <class T, int R>
struct LoanOf<Pointer<T, R>> {
  using type = Loaned<T, R, false>;
  static const Tensor<T, R>& from(const Pointer<T, R>& argument) { return argument.tensor; }
};

// One launch and what it left.
template <class... Args>
class Launch {
 public:
  template <class Run>
  Launch(heddle::Device device, Run run, const Args&... args)
      : stream_(device, 2), loans_(typename LoanOf<Args>::type(stream_, LoanOf<Args>::from(args))...) {
    std::apply([&](auto&... loan) { run(stream_, loan.argument()...); }, loans_);
    std::apply([&](auto&... loan) { (loan.fetch(stream_), ...); }, loans_);
  }

  std::string check() const {
    std::string problem;
    int position = 0;
    auto add = [&](const std::string& found) {
      if (!found.empty() && problem.empty()) problem = "argument " + std::to_string(position) + ": " + found;
      ++position;
    };
    std::apply([&](const auto&... loan) { (add(loan.check()), ...); }, loans_);
    return problem;
  }

  std::string compare(const Launch& oracle) const {
    return compare(oracle, std::index_sequence_for<Args...>());
  }

 private:
  template <size_t... I>
  std::string compare(const Launch& oracle, std::index_sequence<I...>) const {
    std::string problem;
    ((problem.empty() ? void(problem = std::get<I>(loans_).compare(std::get<I>(oracle.loans_))) : void()),
     ...);
    return problem;
  }

  heddle::Stream stream_;
  std::tuple<typename LoanOf<Args>::type...> loans_;
};

// Whether a GPU refuses these dims by number: its shared memory is smaller than a CPU's cache.
template <class Try>
bool too_large(heddle::Device device, Try attempt) {
  if (device.kind() != heddle::Device::Kind::cuda) return false;
  try {
    attempt();
    return false;
  } catch (const heddle::Error& error) {
    if (error.kind() != heddle::ErrorKind::schedule) throw;
    return std::string(error.what()).find("bytes of shared memory") != std::string::npos;
  }
}

// Tensor cores add in their own order: a dot of 16-bit floats on a GPU has the oracle's values within the
// bound, but not its bits.
template <class T, int R>
constexpr bool is_16_bit(const Tensor<T, R>&) {
  return sizeof(T) == 2;
}
template <class T, int R>
constexpr bool is_16_bit(const Pointer<T, R>&) {
  return sizeof(T) == 2;
}
template <class A>
constexpr bool is_16_bit(const A&) {
  return false;
}

// Launches by `run(schedule)`, which gives something to call with a stream and the arguments. The interpreter
// runs each choice of dims once; every device and way to spread the work must give its bits.
template <class Run, class... Args>
void check_launches(const std::vector<heddle::Schedule>& schedules, Run run, const Args&... args) {
  std::string extents;
  auto describe = [&](const auto& argument) {
    if constexpr (requires { argument.extents(); }) {
      extents += " (";
      for (int64_t extent : argument.extents()) extents += " " + std::to_string(extent);
      extents += " )";
    }
  };
  (describe(args), ...);
  const std::vector<heddle::Device> all = devices();
  const heddle::Schedule* oracle_schedule = nullptr;
  std::unique_ptr<Launch<Args...>> oracle;
  for (const heddle::Schedule& schedule : schedules) {
    INFO("extents", extents, "; schedule ", text(schedule));
    try {
      if (!oracle_schedule || !(oracle_schedule->dims == schedule.dims)) {
        oracle_schedule = &schedule;
        oracle = std::make_unique<Launch<Args...>>(all[0], run(schedule), args...);
        const std::string problem = oracle->check();
        CHECK_MESSAGE(problem.empty(), std::string(all[0].name()), ": ", problem);
      }
      for (size_t d = 1; d < all.size(); ++d) {
        if (too_large(all[d], [&] { Launch<Args...>(all[d], run(schedule), args...); })) continue;
        const Launch<Args...> launch(all[d], run(schedule), args...);
        const std::string problem = launch.check(), other = launch.compare(*oracle);
        CHECK_MESSAGE(problem.empty(), std::string(all[d].name()), ": ", problem);
        if (all[d].kind() != heddle::Device::Kind::cuda || !(is_16_bit(args) || ...))
          CHECK_MESSAGE(other.empty(), std::string(all[d].name()), ": ", other);
      }
    } catch (const heddle::Error& error) {
      FAIL_CHECK(std::string(error.what()));
    }
  }
}

// A kernel that takes its work from tile_id: under the given schedules, and the one of the rule.
template <class Kernel, class... Args>
void check(const Kernel& kernel, std::vector<heddle::Schedule> schedules, const Args&... args) {
  try {
    for (const heddle::Device& device : devices()) {
      const Launch<Args...> by_rule(
          device, [&](heddle::Stream& stream, const auto&... argument) { kernel(stream, argument...); },
          args...);
      const std::string problem = by_rule.check();
      CHECK_MESSAGE(problem.empty(), std::string(device.name()), " by rule: ", problem);
      schedules.push_back(heddle::runtime::last_launch().schedule);
    }
  } catch (const heddle::Error& error) {
    FAIL_CHECK(std::string(error.what()));
  }
  check_launches(
      schedules,
      [&](const heddle::Schedule& schedule) {
        return [&](heddle::Stream& stream, const auto&... argument) {
          kernel.with(schedule)(stream, argument...);
        };
      },
      args...);
}

// Seeded values to fill inputs with.
class Values {
 public:
  explicit Values(unsigned seed) : random_(seed) {}

  // Normal numbers, and a few NaN, infinities and signed zeros where `special`.
  template <class T, int R>
  void fill(Tensor<T, R>& tensor, bool special = false) {
    tensor.each([&](auto i) { std::apply([&](auto... index) { tensor(index...) = T(next(special)); }, i); });
  }

 private:
  float next(bool special);

  std::mt19937 random_;
};

}  // namespace kernels
