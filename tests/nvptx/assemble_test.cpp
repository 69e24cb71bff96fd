// Every kernel that ships, and the twelve of tests/kernels, through ptxas for every architecture that
// differs: accepted, and without a spill.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/nvptx/nvptx.h"
#include "runtime/cuda/assembly_report.h"
#include "samples/gemm/gemm.h"
#include "samples/softmax/softmax.h"
#include "samples/vector_add/vector_add.h"
#include "tests/kernels/batched_gemm.h"
#include "tests/kernels/causal_mask.h"
#include "tests/kernels/convolution.h"
#include "tests/kernels/dot_reductions.h"
#include "tests/kernels/dual_gemm.h"
#include "tests/kernels/in_place.h"
#include "tests/kernels/low_rank.h"
#include "tests/kernels/online_softmax.h"
#include "tests/kernels/row_norm.h"
#include "tests/kernels/stencil.h"
#include "tests/kernels/transposed_gemm.h"
#include "tests/kernels/two_dots.h"
#include "tests/support/ptx.h"

using namespace heddle;

namespace {

// Compute capability, and the shared memory that a CTA may have, opted in (CUDA C++ Programming Guide, table
// of technical specifications).
struct Architecture {
  int sm;
  int64_t shared_kib;
};
constexpr Architecture kArchitectures[] = {{80, 163}, {86, 99}, {89, 99}, {90, 227}, {100, 227}, {120, 99}};

// `given` null = by the rule. `spill_limit`: bytes.
void check_assembly(const runtime::KernelSource& source, const test::Arguments& arguments = {},
                    const Schedule* given = nullptr, int spill_limit = 0) {
  const runtime::PackedArguments packed = test::pack(source, arguments);
  const Schedule schedule = given ? *given : test::schedule_by_rule(source, packed);
  const std::vector<runtime::ArgumentFacts> facts(packed.facts, packed.facts + packed.count);
  const auto lowered = test::scheduled(source, schedule, facts);
  char text[512];
  print(schedule, text, sizeof text);
  for (const Architecture& architecture : kArchitectures) {
    const std::string name = "sm_" + std::to_string(architecture.sm);
    if (!test::ptxas_knows(name)) continue;
    INFO(std::string(source.name), " ", text, " ", name);
    const codegen::GpuTarget target{.sm = architecture.sm, .shared_bytes = architecture.shared_kib * 1024};
    const codegen::GpuKernel kernel =
        codegen::compile_ptx(*codegen::lower_to_machine(*lowered, schedule, target, {}), target.sm);
    const test::PtxasResult result = test::ptxas(kernel.ptx, name);
    INFO(result.output);
    CHECK(result.accepted);
    const auto report = runtime::cuda::read_assembly_report(result.output, kernel.entry);
    CHECK(report.spill_store_bytes >= 0);
    CHECK(report.spill_store_bytes <= spill_limit);
  }
}

// `unaligned_spill_limit`: bytes, where rows are read element by element.
template <class T>
void check_gemm(int unaligned_spill_limit = 0) {
  using Order = test::Arguments::Order;
  for (const Order a : {Order::row_major, Order::column_major})
    for (const Order b : {Order::row_major, Order::column_major})
      check_assembly(sample::gemm<T>.source(), {.orders = {a, b}});
  check_assembly(sample::gemm<T>.source(), {.gap = 1}, nullptr, unaligned_spill_limit);
}

template <class T>
void check_softmax() {
  for (const int64_t columns : {1000, 8192}) check_assembly(sample::softmax<T>.source(), {.extent = columns});
  check_assembly(sample::softmax<T>.source(), {.extent = 1000, .gap = 1});
}

}  // namespace

TEST_CASE("ptxas is there, and knows what is asked of it") {
  std::string unknown;
  for (const Architecture& architecture : kArchitectures) {
    const std::string name = "sm_" + std::to_string(architecture.sm);
    if (!test::ptxas_knows(name)) unknown += " " + name;
  }
  // An older toolkit's ptxas serves on a developer's machine, but not where changes are judged.
  INFO("unknown:", unknown);
  CHECK(test::ptxas_knows("sm_80"));
  if (std::getenv("CI")) CHECK(unknown.empty());
  if (!unknown.empty()) MESSAGE("not assembled for", unknown);
}

TEST_CASE("samples: vector_add") {
  const Schedule schedule{.dims = {sample::BLOCK = 1024}};
  check_assembly(sample::vector_add.source(), {}, &schedule);
}

TEST_CASE("samples: softmax") {
  check_softmax<f32>();
  check_softmax<bf16>();
}

TEST_CASE("samples: products of f16") {
  check_gemm<f16>();
}
TEST_CASE("samples: products of bf16") {
  check_gemm<bf16>();
}
TEST_CASE("samples: products of i8") {
  check_gemm<i8>(384);  // 128 bytes, each in a register of its own, beside 128 sums
}
TEST_CASE("samples: products of f32") {
  check_gemm<f32>();
}
TEST_CASE("samples: products of f64") {
  check_gemm<f64>();
}

// Some of these still spill: their limits are what ptxas 13.0 reports, rounded up, and may only fall. The
// rule's dims are left where they ask for the registers of two accumulators (dual_gemm).
TEST_CASE("twelve kernels") {
  using namespace kernels;
  const Schedule blocks{.dims = {ROWS = 16, COLS = 64}};
  const Schedule narrow{.dims = {BM = 64, BN = 32, BK = 16}}, square{.dims = {BM = 64, BN = 64, BK = 32}};
  check_assembly(two_dots.source());
  check_assembly(dual_gemm<f32>.source(), {}, &narrow);
  check_assembly(dual_gemm<bf16>.source(), {}, &square, 96);
  check_assembly(dual_gemm<f16>.source(), {}, &square, 96);
  check_assembly(low_rank<f32>.source(), {.extent = 64});
  check_assembly(low_rank<f64>.source(), {.extent = 64});
  check_assembly(row_norm.source(), {}, &blocks, 96);
  check_assembly(row_norm.source(), {}, nullptr, 64);
  check_assembly(dot_reductions.source(), {.extent = 64});
  check_assembly(transposed_gemm.source());
  check_assembly(online_softmax.source(), {}, &blocks, 448);
  check_assembly(online_softmax.source(), {}, nullptr, 512);
  check_assembly(convolution.source());
  check_assembly(batched_gemm<f32>.source());
  check_assembly(batched_gemm<bf16>.source());
  check_assembly(causal_mask.source(), {}, &blocks);
  check_assembly(affine.source(), {}, nullptr, 64);
  check_assembly(softmax_in_place.source(), {.extent = 1000}, nullptr, 32);
  check_assembly(laplacian<f32>.source(), {}, nullptr, 192);
  check_assembly(laplacian<f64>.source(), {}, nullptr, 320);
}
