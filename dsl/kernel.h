// Kernel: a named body that is recorded, compiled and run.
#pragma once

#include "dsl/arguments.h"
#include "dsl/record.h"
#include "runtime/launch.h"

namespace heddle {
namespace detail {

// Calls `body` with its arguments evaluated from left to right, which braces promise and parentheses don't.
template <class F>
struct Call {
  template <class... A>
  Call(const F& body, const A&... arguments) {
    body(arguments...);
  }
};

// The parameters of a body.
template <class... P>
struct Parameters {
  static constexpr int kCount = sizeof...(P);
  static constexpr bool kLegal = (Parameter<P>::kLegal && ...);

  template <class F>
  static ir::Function* trace(const runtime::KernelSource& source, const runtime::TraceRequest& request) {
    static constexpr record::Parameter kSpecs[kCount + 1] = {Parameter<P>::kSpec..., {}};
    record::Trace trace(source, request, kSpecs, kCount);
    Call<F>{*static_cast<const F*>(source.body), Parameter<P>::make(trace.next_parameter())...};
    return trace.finish();
  }

  template <class... A>
  static void pack([[maybe_unused]] runtime::Argument* packed, [[maybe_unused]] Where where,
                   const A&... arguments) {
    (Parameter<P>::pack(arguments, *packed++, where), ...);
  }
};

template <class F>
struct Signature {
  static constexpr bool kKnown = false;
  using Result = void;
  using Arguments = Parameters<>;
};
template <class R, class... P>
struct Signature<R (*)(P...)> {
  static constexpr bool kKnown = true;
  using Result = R;
  using Arguments = Parameters<std::remove_cvref_t<P>...>;
};
template <class C, class R, class... P>
struct Signature<R (C::*)(P...) const> : Signature<R (*)(P...)> {};

// Of a lambda or a function pointer.
template <class F>
consteval auto* signature_of() {
  if constexpr (requires { &F::operator(); })
    return static_cast<Signature<decltype(&F::operator())>*>(nullptr);
  else
    return static_cast<Signature<F>*>(nullptr);
}

// The stream of a launch, and the line it is launched on.
struct StreamHere {
  Stream& stream;
  Where where;
  StreamHere(Stream& stream, Where where = Where::current()) : stream(stream), where(where) {}
};

}  // namespace detail

template <class F>
class Kernel;

// A kernel with a schedule, a grid, or both: what Kernel::with and Kernel::grid give.
template <class F>
class Launcher {
 public:
  explicit Launcher(const Kernel<F>& kernel) : kernel_(&kernel) {}
  Launcher(const Kernel<F>& kernel, const Schedule& schedule)
      : kernel_(&kernel), schedule_(schedule), scheduled_(true) {}

  Launcher with(const Schedule& schedule) const {
    Launcher result(*kernel_, schedule);
    result.grid_ = grid_;
    return result;
  }
  // How many program instances there are along each axis, for kernels that ask program_id.
  Launcher grid(int64_t x, int64_t y = 1, int64_t z = 1) const {
    Launcher result = *this;
    result.grid_ = {.x = x, .y = y, .z = z, .set = true};
    return result;
  }
  template <class... A>
  void operator()(detail::StreamHere stream, const A&... arguments) const {
    kernel_->launch(runtime::Purpose::run, scheduled_ ? &schedule_ : nullptr, grid_, stream, arguments...);
  }
  // As Kernel::prepare.
  template <class... A>
  void prepare(detail::StreamHere stream, const A&... arguments) const {
    kernel_->launch(runtime::Purpose::prepare, scheduled_ ? &schedule_ : nullptr, grid_, stream,
                    arguments...);
  }

 private:
  const Kernel<F>* kernel_;
  Schedule schedule_;
  bool scheduled_ = false;
  runtime::Grid grid_;
};

// A kernel: `const Kernel add{"add", [](Ptr<const f32> x, ...) { ... }};` at namespace scope, or a variable
// template of its element types. Calls may come from many threads at once.
template <class F>
class Kernel {
  using Signature = std::remove_pointer_t<decltype(detail::signature_of<F>())>;
  using Arguments = typename Signature::Arguments;
  static constexpr bool kStateless = std::is_empty_v<F> || std::is_pointer_v<F>;
  static_assert(
      kStateless,
      "a kernel's body captures nothing: it depends on its arguments and dims alone, so pass values as "
      "Scalar<T> parameters");
  static_assert(!kStateless || Signature::kKnown,
                "a kernel's body is a lambda or function whose parameters have written types (no auto), "
                "neither mutable "
                "nor noexcept");
  static_assert(std::is_void_v<typename Signature::Result>,
                "a kernel's body returns nothing: results go through store");
  static_assert(Arguments::kLegal, "a kernel's parameters are Ptr<T>, View<T, R> and Scalar<T>");

 public:
  // The name is for messages and dumps: any text.
  template <int N>
  constexpr Kernel(const char (&name)[N], F body, Where where = Where::current())
      : body_(body), source_{name, where, &body_, &Arguments::template trace<F>} {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() {
    if (state_) runtime::destroy(state_);
  }

  // kernel(stream, arguments...): with a schedule chosen by rule.
  template <class... A>
  void operator()(detail::StreamHere stream, const A&... arguments) const {
    launch(runtime::Purpose::run, nullptr, {}, stream, arguments...);
  }
  // Compiles and loads what a call with arguments like these needs, and runs nothing: so that the call can be
  // captured into a graph, or is as fast the first time. Alike are strides of 1, addresses and strides that
  // are multiples of 16 bytes, and extents that the rule, where it chooses, gives the same dims. Memory is
  // not touched and may be null.
  template <class... A>
  void prepare(detail::StreamHere stream, const A&... arguments) const {
    launch(runtime::Purpose::prepare, nullptr, {}, stream, arguments...);
  }
  Launcher<F> with(const Schedule& schedule) const { return Launcher<F>(*this, schedule); }
  Launcher<F> grid(int64_t x, int64_t y = 1, int64_t z = 1) const { return Launcher<F>(*this).grid(x, y, z); }

  const runtime::KernelSource& source() const { return source_; }

 private:
  friend class Launcher<F>;

  template <class... A>
  void launch(runtime::Purpose purpose, const Schedule* schedule, runtime::Grid grid,
              detail::StreamHere stream, const A&... arguments) const {
    constexpr bool count = sizeof...(A) == Arguments::kCount;
    static_assert(count,
                  "the call has not as many arguments as the kernel has parameters (after the stream)");
    if constexpr (count) {
      record::check_launch(source_.name, stream.where);
      runtime::Argument packed[sizeof...(A) + 1];
      Arguments::pack(packed, stream.where, arguments...);
      runtime::launch(source_, state_, schedule, grid, stream.stream, packed, sizeof...(A), stream.where,
                      purpose);
    }
  }

  [[no_unique_address]] F body_;
  runtime::KernelSource source_;
  mutable runtime::KernelState* state_ = nullptr;
};

}  // namespace heddle
