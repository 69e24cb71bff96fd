// Command line around the softmax of softmax.h.
#include "softmax/softmax.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "common/options.h"

namespace {

using namespace heddle;
using sample::softmax;

template <class T>
bool run(const sample::Options& options, const std::string& dtype, int64_t rows, int64_t columns) {
  Stream stream(Device::open(options.target.c_str()), options.threads);
  Buffer<T> in(stream.device(), rows * columns), out(stream.device(), rows * columns);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<T> host(static_cast<size_t>(rows * columns));
  for (T& value : host) value = T(3 * normal(random));
  in.upload(stream, host.data());

  const Schedule schedule = parse_schedule(options.schedule.c_str());
  auto launch = [&] {
    if (sample::has_schedule(options))
      softmax<T>.with(schedule)(stream, in.view(rows, columns), out.view(rows, columns));
    else
      softmax<T>(stream, in.view(rows, columns), out.view(rows, columns));
  };
  // exp and its sum are within a few units in the last place of f32; bf16 results are rounded once more.
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-8;
  auto check = [&] {
    std::vector<T> result(host.size());
    out.download(stream, result.data());
    sample::Difference difference;
    std::vector<double> weight(static_cast<size_t>(columns));
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = host.data() + r * columns;
      double largest = -INFINITY, sum = 0;
      for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, double(x[c]));
      for (int64_t c = 0; c < columns; ++c) sum += weight[size_t(c)] = std::exp(double(x[c]) - largest);
      for (int64_t c = 0; c < columns; ++c) {
        const double reference = weight[size_t(c)] / sum;
        difference.add(double(result[size_t(r * columns + c)]), reference,
                       (unit + 64 * 0x1p-24) * reference + 0x1p-130);
      }
    }
    return difference;
  };
  std::printf("kernel    softmax %s, %ld rows of %ld\n", dtype.c_str(), long(rows), long(columns));
  bool right = true;
  sample::report(options, stream, launch, check, 2.0 * double(rows * columns) * sizeof(T), "GB/s", right);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  sample::Options options;
  std::string dtype = "f32";
  int64_t rows = 4096, columns = 1000;
  CLI::App app("Heddle's sample softmax over rows");
  app.add_option("--dtype", dtype, "f32 or bf16")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--rows", rows, "rows")->capture_default_str()->check(sample::extent());
  app.add_option("--columns", columns, "columns")->capture_default_str()->check(sample::extent());
  sample::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return sample::guarded([&] {
    return dtype == "bf16" ? run<bf16>(options, dtype, rows, columns)
                           : run<f32>(options, dtype, rows, columns);
  });
}
