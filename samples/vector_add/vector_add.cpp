// Command line around the vector addition of vector_add.h.
#include "vector_add/vector_add.h"

#include <cstdio>
#include <random>
#include <vector>

#include "common/options.h"

using namespace heddle;
using sample::BLOCK;

int main(int argc, char** argv) {
  sample::Options options;
  int64_t n = 10'000'019;
  CLI::App app("Heddle's sample vector addition");
  app.add_option("-n", n, "elements")->capture_default_str()->check(sample::extent());
  sample::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return sample::guarded([&] {
    Stream stream(Device::open(options.target.c_str()), options.threads);
    Buffer<f32> x(stream.device(), n), y(stream.device(), n), out(stream.device(), n);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> host_x(static_cast<size_t>(n)), host_y(host_x.size());
    for (size_t i = 0; i < host_x.size(); ++i) host_x[i] = normal(random), host_y[i] = normal(random);
    x.upload(stream, host_x.data());
    y.upload(stream, host_y.data());

    // A grid counts blocks, so an SPMD kernel's caller names the block.
    const Schedule schedule = sample::has_schedule(options) ? parse_schedule(options.schedule.c_str())
                                                            : Schedule{.dims = {BLOCK = 4096}};
    const DimBinding* block = schedule.dims.find("BLOCK");
    const int64_t programs = block ? (n + block->value - 1) / block->value : 1;
    auto launch = [&] {
      sample::vector_add.with(schedule).grid(programs)(stream, x.data(), y.data(), out.data(), n);
    };
    auto check = [&] {
      std::vector<float> result(host_x.size());
      out.download(stream, result.data());
      sample::Difference difference;
      for (size_t i = 0; i < result.size(); ++i) difference.add(result[i], host_x[i] + host_y[i], 0);
      return difference;
    };
    std::printf("kernel    vector_add f32, %ld elements\n", long(n));
    bool right = true;
    sample::report(options, stream, launch, check, 12.0 * double(n), "GB/s", right);
    return right;
  });
}
