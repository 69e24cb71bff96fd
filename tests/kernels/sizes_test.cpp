// Offsets, extents and grids that 32 bits don't hold, and sizes of zero, on every device. Little memory is
// touched: views with long strides lie over pages that nobody writes to.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/kernels/dims.h"
#include "tests/kernels/harness.h"

namespace {

using namespace kernels;

constexpr int64_t kTwo31 = int64_t(1) << 31, kTwo32 = int64_t(1) << 32;

// Zeroed bytes on a device; on the host, pages that take memory once they are written to.
class Memory {
 public:
  Memory(Device device, int64_t bytes) : bytes_(bytes) {
    if (device.kind() == Device::Kind::cuda) {
      buffer_ = Buffer<i8>(device, bytes);
      data_ = buffer_.data();
      return;
    }
    void* mapped = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    data_ = static_cast<i8*>(mapped);
  }
  Memory(const Memory&) = delete;
  ~Memory() {
    if (!buffer_.data()) munmap(data_, size_t(bytes_));
  }
  template <class T>
  T* at(int64_t byte) {
    return reinterpret_cast<T*>(data_ + byte);
  }

 private:
  int64_t bytes_;
  Buffer<i8> buffer_;
  i8* data_;
};

// A few numbers on a device that the host sees.
template <class T>
class Numbers {
 public:
  Numbers(Stream& stream, std::vector<T> values)
      : stream_(stream), buffer_(stream.device(), int64_t(values.size())), host_(std::move(values)) {
    buffer_.upload(stream_, host_.data());
  }
  T* data() { return buffer_.data(); }
  std::vector<T> values() {
    buffer_.download(stream_, host_.data());
    return host_;
  }

 private:
  Stream& stream_;
  Buffer<T> buffer_;
  std::vector<T> host_;
};

template <class T>
const Kernel copy{"copy", [](View<const T, 2> from, View<T, 2> to) {
                    auto [m, n] = tile_id<BM, BN>(to);
                    store(to, {m, n}, load<BM, BN>(from, {m, n}));
                  }};

const Schedule small_tiles{.dims = {BM = 4, BN = 16}};

// Three rows, `stride` elements apart, are written and read back as rows of their own, and through the view.
template <class T>
void check_far_rows(Device device, int64_t stride) {
  INFO(std::string(device.name()), ", rows of ", int(sizeof(T)), "-byte elements, stride ", stride);
  constexpr int64_t kRows = 3, kColumns = 21;
  const int64_t bytes = std::abs(stride) * int64_t(sizeof(T));
  Stream stream(device);
  Memory memory(device, (kRows - 1) * bytes + 4096);
  std::vector<T> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), T(1));
  Numbers<T> in(stream, values), back(stream, std::vector<T>(values.size()));
  const TensorRef<T, 2> near(in.data(), {kRows, kColumns}), result(back.data(), {kRows, kColumns});
  const int64_t first = stride < 0 ? (kRows - 1) * bytes : 0;
  const TensorRef<T, 2> far(memory.at<T>(first), {kRows, kColumns}, {stride, 1});
  copy<T>.with(small_tiles)(stream, near, far);
  copy<T>.with(small_tiles)(stream, far, result);
  CHECK(back.values() == values);
  for (int64_t row = 0; row < kRows; ++row) {
    T* where = memory.at<T>(first + row * stride * int64_t(sizeof(T)));
    copy<T>.with(small_tiles)(stream, TensorRef<const T, 2>(where, {1, kColumns}), result);
    const std::vector<T> seen = back.values();
    CHECK(std::equal(seen.begin(), seen.begin() + kColumns, values.begin() + row * kColumns));
  }
}

}  // namespace

TEST_CASE("rows further apart than 2^31 and 2^32 bytes and elements, forwards and backwards") {
  for (const Device& device : devices())
    for (const int64_t sign : {1, -1}) {
      check_far_rows<i8>(device, sign * (kTwo31 + 64));
      check_far_rows<i8>(device, sign * (kTwo32 + 64));
      check_far_rows<i32>(device, sign * (kTwo31 / 4 + 16));
    }
}

namespace {

// What the last tile along the view finds.
const Kernel last_tile{"last_tile", [](View<const i8, 1> x, Ptr<i64> out) {
                         auto [m] = tile_id<BM>(x);
                         when(m + BM >= x.extent(0), [&] {
                           store(out, m);
                           store(out + 1, sum(cast<i64>(load<BM>(x, {m}))));
                         });
                       }};

}  // namespace

TEST_CASE("more than 2^31 elements: every tile has its place, and the last one its edge") {
  for (const Device& device : devices())
    for (const Work& work : {Work(data_parallel{}), Work(persistent{.workers = 100})}) {
      // The interpreter and the CPU take few large tiles; a GPU holds a tile in registers.
      const int64_t tile = device.kind() == Device::Kind::cuda ? 1024 : 65536;
      INFO(std::string(device.name()));
      Stream stream(device);
      Numbers<i8> one(stream, {1});
      Numbers<i64> out(stream, {-1, -1});
      const int64_t extent = kTwo31 + 77;
      last_tile.with({.dims = {BM = tile}, .work = work})(
          stream, TensorRef<const i8, 1>(one.data(), {extent}, {0}), out.data());
      CHECK(out.values() == std::vector<i64>{kTwo31, 77});
    }
}

namespace {

// Program (x, y, z) of a grid writes where it is, and an offset of its own making.
const Kernel place{"place",
                   [](Ptr<i64> out, Scalar<i64> x, Scalar<i64> y, Scalar<i64> z, Scalar<i64> stride) {
                     when((program_id(0) == x) & (program_id(1) == y) & (program_id(2) == z), [&] {
                       store(out, program_id(0));
                       store(out + 1, program_id(1));
                       store(out + 2, program_id(2));
                       store(out + 3, program_id(0) * stride);
                     });
                   }};

void check_place(Device device, std::vector<int64_t> grid, int64_t stride) {
  INFO(std::string(device.name()), ", grid ", grid[0], " ", grid[1], " ", grid[2]);
  Stream stream(device);
  const i64 x = grid[0] - 1, y = grid[1] - 1, z = grid[2] - 1;
  Numbers<i64> out(stream, {-1, -1, -1, -1});
  place.grid(grid[0], grid[1], grid[2])(stream, out.data(), x, y, z, stride);
  CHECK(out.values() == std::vector<i64>{x, y, z, x * stride});
}

}  // namespace

TEST_CASE("grids beyond 65535 along y and z; products of a program's number beyond 32 bits") {
  for (const Device& device : devices()) {
    check_place(device, {320, 1, 1}, 7864320);  // 319 * 7864320 = 2508718080
    check_place(device, {1, 65535, 1}, 1);
    check_place(device, {1, 65536, 1}, 1);
    check_place(device, {1, 1, 65538}, 1);
    check_place(device, {3, 7, 11}, kTwo32 + 1);
  }
}

TEST_CASE("grids beyond 2^31 - 1 along x and in all, on a GPU") {
  for (const Device& device : devices()) {
    if (device.kind() != Device::Kind::cuda) continue;  // seconds there, minutes elsewhere
    check_place(device, {kTwo31 - 1, 1, 1}, 3);
    check_place(device, {kTwo31 + 5, 1, 1}, 3);
    check_place(device, {1, 65536, 32769}, 3);
  }
}

TEST_CASE("grids and views without anything in them: nothing is done, whatever the memory") {
  i64* none = nullptr;
  for (const Device& device : devices()) {
    Stream stream(device);
    for (const std::vector<int64_t>& grid :
         std::vector<std::vector<int64_t>>{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}, {kTwo32, kTwo31, 0}})
      place.grid(grid[0], grid[1], grid[2])(stream, none, 0, 0, 0, 1);
    i8* empty = nullptr;
    for (const std::vector<int64_t>& extents :
         std::vector<std::vector<int64_t>>{{0, 5}, {5, 0}, {0, 0}, {kTwo32, 0}, {0, INT64_MAX}})
      copy<i8>(stream, TensorRef<const i8, 2>(empty, {extents[0], extents[1]}),
               TensorRef<i8, 2>(empty, {extents[0], extents[1]}));
    stream.synchronize();
  }
}

TEST_CASE("more tiles than 2^63 are refused on the caller's line") {
  for (const Device& device : devices()) {
    Stream stream(device);
    Numbers<i64> out(stream, {0});
    bool refused = false;
    const uint32_t line = __LINE__ + 2;
    try {
      place.grid(kTwo32, kTwo31, 2)(stream, out.data(), 0, 0, 0, 1);
    } catch (const Error& error) {
      refused = error.kind() == ErrorKind::launch && error.where().line == line &&
                std::string(error.message()).find("more than 2^63") != std::string::npos;
    }
    CHECK(refused);
    CHECK(out.values() == std::vector<i64>{0});
  }
}

namespace {

const Kernel sum_all{"sum_all",
                     [](View<const f32, 2> x, Ptr<f32> out) { store(out, sum(load<BM, BN>(x, {0, 0}))); }};

}  // namespace

TEST_CASE("a view of one element with strides of zero reads that element and none beyond") {
  const int64_t page = sysconf(_SC_PAGESIZE);
  for (const Device& device : devices()) {
    INFO(std::string(device.name()));
    Stream stream(device);
    Numbers<f32> out(stream, {0});
    const auto expect_sum = [&](const f32* one) {
      sum_all.with({.dims = {BM = 64, BN = 2}})(stream, TensorRef<const f32, 2>(one, {64, 2}, {0, 0}),
                                                out.data());
      CHECK(out.values() == std::vector<f32>{384});
    };
    if (device.kind() == Device::Kind::cuda) {
      Numbers<f32> one(stream, {3});
      expect_sum(one.data());
      continue;
    }
    // The element ends a page, and the next one can't be read.
    void* pages = mmap(nullptr, size_t(2 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(mprotect(static_cast<char*>(pages) + page, size_t(page), PROT_NONE) == 0);
    f32* one = reinterpret_cast<f32*>(static_cast<char*>(pages) + page) - 1;
    *one = 3;
    expect_sum(one);
    munmap(pages, size_t(2 * page));
  }
}
