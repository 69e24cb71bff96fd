// What cuLaunchKernel is asked for, and what never reaches it.
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/fake_cuda/kernels.h"

using namespace heddle;
using fake::BLOCK;
using fake::cuda;

TEST_CASE("a launch: grid, block, stream, and parameters in the documented order") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(1));
  const Schedule schedule{.dims = {BLOCK = 128}, .warps = uniform{.warps = 2}};
  const Schedule plain{.warps = uniform{.warps = 2}};
  float* x = fake::memory();
  float* out = fake::memory() + 16;
  fake::add<0>.with(plain).grid(5, 2, 3)(stream, x, out, 77);
  const FakeLaunch pointers = fake::last_launch();
  CHECK(pointers.device == 1);
  CHECK(pointers.stream == stream.native());
  CHECK(pointers.grid[0] == 30);
  CHECK(pointers.grid[1] == 1);
  CHECK(pointers.grid[2] == 1);
  CHECK(pointers.block[0] == 32 * 2);
  CHECK(pointers.block[1] == 1);
  CHECK(pointers.block[2] == 1);
  // Slots, then WorkParams (workers, grid x, y, z, group), then the number of workers.
  REQUIRE(pointers.parameter_count == 3 + 5 + 1);
  CHECK(pointers.parameters[0] == reinterpret_cast<int64_t>(x));
  CHECK(pointers.parameters[1] == reinterpret_cast<int64_t>(out));
  CHECK(pointers.parameters[2] == 77);
  CHECK(pointers.parameters[4] == 5);
  CHECK(pointers.parameters[5] == 2);
  CHECK(pointers.parameters[6] == 3);
  CHECK(pointers.parameters[8] == 30);

  // A view's slots: address, extents, strides.
  const TensorRef<const f32, 2> in(x, {10, 300}, {512, 1});
  const TensorRef<f32, 2> to(out, {10, 300}, {1, 16});
  fake::scale<0>.with(schedule)(stream, in, to);
  const FakeLaunch views = fake::last_launch();
  REQUIRE(views.parameter_count == 10 + 5 + 1);
  const int64_t slots[10] = {reinterpret_cast<int64_t>(x),   10, 300, 512, 1,
                             reinterpret_cast<int64_t>(out), 10, 300, 1,   16};
  for (int i = 0; i < 10; ++i) CHECK(views.parameters[i] == slots[i]);
  CHECK(views.grid[0] == 3 * 3);  // tiles of 4 x 128
  CHECK(views.parameters[15] == 9);
  CHECK(views.block[0] == 32 * 2);
}

TEST_CASE("a caller's stream is the one that is launched on") {
  const fake::Fresh fresh;
  void* callers = cuda().make_stream(0);
  Stream stream = Stream::wrap(Device::cuda(0), callers);
  fake::add<0>.grid(1)(stream, fake::memory(), fake::memory(), 1);
  CHECK(fake::last_launch().stream == callers);
  Stream none = Stream::wrap(Device::cuda(0), nullptr);
  fake::add<0>.grid(1)(none, fake::memory(), fake::memory(), 1);
  CHECK(fake::last_launch().stream == nullptr);
  CHECK(fake::last_launch().device == 0);
  Stream wrong = Stream::wrap(Device::cuda(1), callers);
  CHECK(fake::problem_of([&] {
          fake::add<0>.grid(1)(wrong, fake::memory(), fake::memory(), 1);
        }).has("belongs to another device or context: Stream::wrap takes"));
}

namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);
const Kernel matrix_product{"product", [](View<const f16, 2> a, View<const f16, 2> b, View<f16, 2> c) {
                              auto [m, n] = tile_id<BM, BN>(c);
                              Var acc = zeros<f32, BM, BN>();
                              for (auto k : reduction(a.extent(1), BK))
                                acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                              store(c, {m, n}, cast<f16>(acc));
                            }};

}  // namespace

TEST_CASE("shared memory beyond 48 KiB is opted in to, once") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f16* at = reinterpret_cast<f16*>(fake::memory());
  const TensorRef<f16, 2> square(at, {512, 512});
  const auto run = [&](int64_t edge) {
    matrix_product.with({.dims = {BM = edge, BN = edge, BK = 64}})(stream, square, square, square);
    return fake::last_launch().shared_bytes;
  };
  const unsigned small = run(32);
  CHECK(small > 0);
  CHECK(small <= 48 * 1024);
  CHECK(cuda().calls("cuFuncSetAttribute") == 0);
  CHECK(run(128) > 48 * 1024);
  run(128);
  CHECK(cuda().calls("cuFuncSetAttribute") == 1);
  CHECK(cuda().launches() == 3);
}

TEST_CASE(
    "shared memory up to 48 KiB needs no opting in, beyond the device's limit it is refused by number") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f16* at = reinterpret_cast<f16*>(fake::memory());
  const TensorRef<f16, 2> square(at, {512, 512});
  constexpr unsigned kUsual = 48 * 1024, kLimit = 227 * 1024;
  int usual = 0, opted = 0, refused = 0;
  for (const int64_t rows : {64, 128})
    for (const int64_t columns :
         {16, 48, 176})  // 64 x 48 x 3 stages takes 48 KiB exactly at the time of writing
      for (int64_t stages = 2; stages <= 7; ++stages) {
        const int before = cuda().calls("cuFuncSetAttribute"), launches = cuda().launches();
        const fake::Problem problem = fake::problem_of([&] {
          matrix_product.with({.dims = {BM = rows, BN = columns, BK = 64}, .loads = {.stages = stages}})(
              stream, square, square, square);
        });
        const int asked = cuda().calls("cuFuncSetAttribute") - before;
        if (cuda().launches() == launches) {
          ++refused;
          INFO(problem.message);
          unsigned needed = 0, has = 0;
          REQUIRE(
              std::sscanf(problem.message.c_str(),
                          "kernel 'product' needs %u bytes of shared memory in a CTA, and the device has %u",
                          &needed, &has) == 2);
          CHECK(needed > has);
          CHECK(has == kLimit);
          CHECK(asked == 0);
          continue;
        }
        const unsigned bytes = fake::last_launch().shared_bytes;
        CHECK(bytes <= kLimit);
        CHECK(asked == (bytes > kUsual));
        ++(bytes > kUsual ? opted : usual);
      }
  CHECK(usual > 0);
  CHECK(opted > 0);
  CHECK(refused > 0);
}

TEST_CASE("more workers than a grid has along x fill rows") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  struct Size {
    int64_t workers;
    unsigned x, y;
  };
  constexpr int64_t kRow = INT32_MAX;
  for (const Size& size : {Size{kRow, INT32_MAX, 1}, Size{kRow + 1, 1 << 30, 2}, Size{3 * kRow, INT32_MAX, 3},
                           Size{65535 * kRow, INT32_MAX, 65535}}) {
    fake::add<0>.grid(size.workers)(stream, fake::memory(), fake::memory(), 1);
    const FakeLaunch launch = fake::last_launch();
    CHECK(launch.grid[0] == size.x);
    CHECK(launch.grid[1] == size.y);
    CHECK(launch.grid[2] == 1);
    CHECK(launch.parameters[launch.parameter_count - 1] == size.workers);
  }
  const int before = cuda().launches();
  const fake::Problem problem = fake::problem_of(
      [&] { fake::add<0>.grid(65535 * kRow + 1)(stream, fake::memory(), fake::memory(), 1); });
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(problem.has("would need 140735340806146 CTAs; at most 140735340806145 can be launched at once"));
  CHECK(problem.where.line == __LINE__ - 3);
  CHECK(fake::problem_of([&] {
          fake::add<0>.grid(INT64_MAX)(stream, fake::memory(), fake::memory(), 1);
        }).has("would need 9223372036854775807 CTAs"));
  CHECK(cuda().launches() == before);
}

TEST_CASE("axes y and z of a program's grid may be longer than a launch's") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  struct Size {
    int64_t x, y, z;
  };
  for (const Size& size : {Size{1, 65535, 1}, Size{1, 65536, 1}, Size{1, 1, 65538}, Size{5, 70000, 70000}}) {
    fake::add<0>.grid(size.x, size.y, size.z)(stream, fake::memory(), fake::memory(), 1);
    const FakeLaunch launch = fake::last_launch();
    const int64_t workers = size.x * size.y * size.z;
    CHECK(launch.parameters[launch.parameter_count - 1] == workers);
    CHECK(launch.parameters[4] == size.x);
    CHECK(launch.parameters[5] == size.y);
    CHECK(launch.parameters[6] == size.z);
    const int64_t launched = int64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    CHECK(launched >= workers);
    CHECK(launched < workers + launch.grid[1]);
  }
}

TEST_CASE("no work launches nothing, null memory and all") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f32* none = nullptr;
  fake::scale<0>(stream, TensorRef<const f32, 2>(none, {0, 10}), TensorRef<f32, 2>(none, {0, 10}));
  for (const int axis : {0, 1, 2}) fake::add<0>.grid(axis != 0, axis != 1, axis != 2)(stream, none, none, 0);
  CHECK(cuda().launches() == 0);
}

TEST_CASE("bad arguments are refused before the driver is called, on the caller's line") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f32* x = fake::memory();
  f32* odd = reinterpret_cast<f32*>(reinterpret_cast<char*>(x) + 2);
  f32* none = nullptr;
  const auto view = [](f32* at, int64_t rows) { return TensorRef<f32, 2>(at, {rows, 8}); };
  fake::scale<0>(stream, view(x, 4), view(x, 4));
  fake::scale<0>(stream, view(x + 1, 4), view(x, 4));  // the variant of addresses that are not aligned to 16
  fake::add<0>.grid(1)(stream, x, x, 1);
  fake::add<0>.grid(1)(stream, x + 1, x, 1);
  cuda().clear();
  constexpr uint32_t kFirstLine = __LINE__ + 2;
  const fake::Problem problems[] = {
      fake::problem_of([&] { fake::scale<0>(stream, view(x, -4), view(x, 4)); }),
      fake::problem_of([&] { fake::scale<0>(stream, view(none, 4), view(x, 4)); }),
      fake::problem_of([&] { fake::scale<0>(stream, view(odd, 4), view(x, 4)); }),
      fake::problem_of([&] { fake::scale<0>(stream, view(x, INT64_MAX), view(x, 4)); }),
      fake::problem_of([&] { fake::add<0>.grid(1)(stream, none, x, 1); }),
      fake::problem_of([&] { fake::add<0>.grid(1)(stream, odd, x, 1); }),
      fake::problem_of([&] { fake::add<0>.grid(-1)(stream, x, x, 1); }),
  };
  const char* said[] = {"negative extent -4", "argument 0 is a null view",    "argument 0 at address",
                        "spans more memory",  "argument 0 is a null pointer", "is not aligned to its 4-byte",
                        "negative axis"};
  for (int i = 0; i < 7; ++i) {
    INFO(problems[i].message);
    CHECK(problems[i].kind == ErrorKind::launch);
    CHECK(problems[i].has(said[i]));
    CHECK(problems[i].where.line == kFirstLine + uint32_t(i));
  }
  CHECK(cuda().calls(nullptr) == 0);
}

TEST_CASE("a launch that fails, and one that does not, leave the caller's context") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  for (int callers : {-1, 0, 1}) {
    cuda().make_current(callers);
    void* context = cuda().current();
    const auto run = [&] { fake::add<0>.grid(1)(stream, fake::memory(), fake::memory(), 1); };
    run();
    CHECK(cuda().current() == context);
    cuda().fail("cuLaunchKernel", 701, 0);
    CHECK(fake::problem_of(run).has("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
    CHECK(cuda().current() == context);
    cuda().clear();
  }
}

TEST_CASE("the second launch compiles and loads nothing; the second device loads, but assembles nothing") {
  const fake::Fresh fresh;
  Stream first(Device::cuda(0)), second(Device::cuda(1));
  const auto run = [](Stream& stream) { fake::add<1>.grid(1)(stream, fake::memory(), fake::memory(), 1); };
  run(first);
  CHECK(cuda().calls("cuLinkCreate_v2") == 1);
  CHECK(cuda().calls("cuModuleLoadData") == 1);
  cuda().clear();
  run(first);
  CHECK_FALSE(runtime::last_launch().compiled_now);
  CHECK(cuda().calls(nullptr) == 1);
  CHECK(cuda().calls("cuLaunchKernel") == 1);
  run(second);
  CHECK(cuda().calls("cuLinkCreate_v2") == 0);
  CHECK(cuda().calls("cuModuleLoadData") == 1);
  CHECK(fake::last_launch().device == 1);
  for (int i = 0; i < 10; ++i) {
    run(i % 2 ? first : second);
    CHECK(fake::last_launch().device == (i % 2 ? 0 : 1));
  }
  CHECK(cuda().calls("cuModuleLoadData") == 1);
  CHECK(fake::objects().links == 0);
}

TEST_CASE("eight threads launch the same and different kernels on two devices at once") {
  const fake::Fresh fresh;
  constexpr int kThreads = 8, kRounds = 50;
  std::vector<std::thread> threads;
  std::vector<std::string> problems(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&problem = problems[size_t(t)], t] {
      try {
        Stream stream(Device::cuda(t % 2));
        for (int i = 0; i < kRounds; ++i) {
          fake::add<2>.grid(1)(stream, fake::memory(), fake::memory(), t);
          if (t % 4 < 2)
            fake::add<3>.grid(2)(stream, fake::memory(), fake::memory(), t);
          else
            fake::add<4>.grid(2)(stream, fake::memory(), fake::memory(), t);
        }
        if (cuda().current()) problem = "a context stayed current";
      } catch (const Error& error) {
        problem = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) CHECK(problem == "");
  CHECK(cuda().launches() == 2 * kThreads * kRounds);
  CHECK(cuda().calls("cuLinkCreate_v2") == 3);
  CHECK(cuda().calls("cuModuleLoadData") == 6);
  int of_device[2] = {};
  for (int i = 0; i < cuda().launches(); ++i) {
    FakeLaunch launch;
    REQUIRE(cuda().launch(i, &launch));
    CHECK(launch.parameters[2] % 2 == launch.device);
    ++of_device[launch.device];
  }
  CHECK(of_device[0] == of_device[1]);
}

namespace {

const Kernel mixed{"mixed", [](Ptr<f16> out, Scalar<i8> a, Scalar<f16> b, Scalar<i64> c, Scalar<f16> d) {
                     auto at = arange<32>();
                     store(out + at, (b + d) * cast<f16>(cast<f32>(a) + cast<f32>(c)));
                   }};

}  // namespace

TEST_CASE("scalars arrive in their own width and encoding") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f16* out = reinterpret_cast<f16*>(fake::memory());
  mixed(stream, out, i8(-3), f16(65500.0f), int64_t(1) << 40, f16(1.0f));
  const FakeLaunch launch = fake::last_launch();
  CHECK(int8_t(launch.parameters[1]) == -3);
  CHECK(uint16_t(launch.parameters[2]) == 0x7bff);  // 65504, which 65500 rounds to
  CHECK(launch.parameters[3] == int64_t(1) << 40);
  CHECK(uint16_t(launch.parameters[4]) == 0x3c00);
}

TEST_CASE("threads launch while others allocate, free and capture on the same devices") {
  const fake::Fresh fresh;
  constexpr int kThreads = 8, kRounds = 100;
  std::vector<std::thread> threads;
  std::vector<std::string> problems(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&problem = problems[size_t(t)], t] {
      try {
        const Device device = Device::cuda(t % 2);
        Stream stream(device);
        fake::add<5>.grid(1)(stream, fake::memory(), fake::memory(), 1);
        for (int i = 0; i < kRounds; ++i) {
          const bool capture = t < 2;
          if (capture) cuda().begin_capture(stream.native());
          for (int repeat = 0; repeat < 3; ++repeat)
            fake::add<5>.grid(1)(stream, fake::memory(), fake::memory(), 1);
          if (capture && !cuda().end_capture(stream.native())) problem = "a capture was spoilt";
          if (capture) continue;
          Buffer<f32> buffer(device, 100 + i);
          fake::add<5>.grid(1)(stream, buffer.data(), buffer.data(), 1);
          stream.synchronize();
        }
      } catch (const Error& error) {
        problem = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) CHECK(problem == "");
  CHECK(cuda().default_stream_uses() == 0);
}
