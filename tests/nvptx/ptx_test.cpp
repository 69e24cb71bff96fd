// The NVIDIA target on whole kernels: machine programs verify, PTX passes ptxas, nothing spills.
#include <doctest/doctest.h>

#include <cmath>

#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/nvptx/nvptx.h"
#include "dsl/heddle.h"
#include "tests/support/ptx.h"

using namespace heddle;

namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);
HEDDLE_DIM(BLOCK);

template <class T>
const Kernel matrix_product{"product", [](View<const T, 2> a, View<const T, 2> b, View<T, 2> c) {
                              auto [m, n] = tile_id<BM, BN>(c);
                              Var acc = zeros<accumulator_of<T>, BM, BN>();
                              for (auto k : reduction(a.extent(1), BK))
                                acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                              store(c, {m, n}, cast<T>(acc));
                            }};

const Kernel add{"add", [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, Scalar<i64> n) {
                   auto i = program_id(0) * BLOCK + arange<BLOCK>();
                   auto live = i < n;
                   store(out + i, load(x + i, live) + load(y + i, live), live);
                 }};

template <class T>
const Kernel rows{"rows", [](View<const T, 2> in, View<T, 2> out) {
                    auto [row] = tile_id<1>(in.extent(0));
                    auto x = cast<f32>(load<1, BLOCK>(in, {row, 0}, constant<T>(-INFINITY)));
                    auto e = exp(x - max<1>(x));
                    store(out, {row, 0}, cast<T>(e / sum<1>(e)));
                  }};

constexpr runtime::ArgumentFacts kAligned{.unit_stride_axis = 1, .aligned16 = true};
constexpr runtime::ArgumentFacts kOdd{.unit_stride_axis = 1, .aligned16 = false};
constexpr runtime::ArgumentFacts kTransposed{.unit_stride_axis = 0, .aligned16 = true};
constexpr runtime::ArgumentFacts kPointer{.unit_stride_axis = -1, .aligned16 = true};

struct Outcome {
  std::string machine;
  std::string ptx;
};

Outcome compiles(const runtime::KernelSource& source, const Schedule& schedule,
                 const std::vector<runtime::ArgumentFacts>& facts) {
  const codegen::GpuTarget target{.sm = 90, .shared_bytes = 227 * 1024};
  const auto program =
      codegen::lower_to_machine(*test::scheduled(source, schedule, facts), schedule, target, {});
  const std::string text = ir::print(*program);
  CHECK(ir::print(*ir::parse(text)) == text);
  const codegen::GpuKernel kernel = codegen::compile_ptx(*program, 80);
  for (const char* architecture : {"sm_80", "sm_90"}) {
    const test::PtxasResult result = test::ptxas(kernel.ptx, architecture);
    INFO(result.output);
    INFO(text);
    CHECK(result.found);
    CHECK(result.accepted);
    CHECK(result.output.find(" 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
  }
  return {.machine = text, .ptx = kernel.ptx};
}

}  // namespace

TEST_CASE("a masked sum of two vectors moves 16 bytes at a time") {
  const Outcome outcome =
      compiles(add.source(), {.dims = {BLOCK = 1024}}, {kPointer, kPointer, kPointer, {}});
  CHECK(outcome.ptx.find("ld.global.v4.b32") != std::string::npos);
  CHECK(outcome.ptx.find("st.global.v4.b32") != std::string::npos);
}

TEST_CASE("a product of 16-bit matrices uses the tensor cores and a ring of copies") {
  const Schedule schedule{.dims = {BM = 128, BN = 128, BK = 32}};
  for (const runtime::ArgumentFacts a : {kAligned, kTransposed})
    for (const runtime::ArgumentFacts b : {kAligned, kTransposed}) {
      const Outcome outcome = compiles(matrix_product<bf16>.source(), schedule, {a, b, kAligned});
      CHECK(outcome.ptx.find("mma.sync.aligned.m16n8k16") != std::string::npos);
      CHECK(outcome.ptx.find("cp.async.cg") != std::string::npos);
    }
  const Outcome odd = compiles(matrix_product<f16>.source(), schedule, {kOdd, kOdd, kOdd});
  CHECK(odd.ptx.find("cp.async.cg") == std::string::npos);
}

TEST_CASE("products of the tensor cores leave in whole sectors, through the memory of their ring") {
  const Schedule schedule{.dims = {BM = 128, BN = 128, BK = 32}};
  const auto store_of = [](const Outcome& outcome) {
    return outcome.machine.substr(outcome.machine.find("wait_copies {pending = 0}"));
  };
  for (const runtime::ArgumentFacts c : {kAligned, kTransposed}) {
    const Outcome outcome = compiles(matrix_product<bf16>.source(), schedule, {kAligned, kAligned, c});
    CHECK(outcome.machine.find("shared 65536 {") != std::string::npos);  // the ring's four stages
    CHECK(store_of(outcome).find("load_shared") != std::string::npos);
    CHECK(outcome.ptx.find("st.global.v4.b32") != std::string::npos);
  }
  // Nothing to gain: two elements are not known to be aligned; what fma leaves fills sectors as it is.
  for (const auto& [source, c] :
       {std::pair(matrix_product<bf16>.source(), kOdd), std::pair(matrix_product<f32>.source(), kAligned)}) {
    const Outcome outcome = compiles(source, {.dims = {BM = 64, BN = 64, BK = 16}}, {kAligned, kAligned, c});
    CHECK(store_of(outcome).find("load_shared") == std::string::npos);
  }
}

TEST_CASE("a tile whose rows are loaded and whose columns are stored turns round in shared memory") {
  const Kernel turned{"turned", [](View<const f32, 2> in, View<f32, 2> out) {
                        auto [m, n] = tile_id<BM, BN>(in);
                        store(out, {m, n}, load<BM, BN>(in, {m, n}));
                      }};
  const Schedule schedule{.dims = {BM = 64, BN = 64}, .warps = uniform{.ctas_per_sm = 4}};
  CHECK(compiles(turned.source(), schedule, {kAligned, kTransposed}).machine.find("load_shared") !=
        std::string::npos);
  CHECK(compiles(turned.source(), schedule, {kAligned, kAligned}).machine.find("load_shared") ==
        std::string::npos);
}

TEST_CASE("a product of i8 matrices uses the tensor cores, whichever axis is contiguous") {
  const Schedule schedule{.dims = {BM = 128, BN = 128, BK = 64}};
  for (const runtime::ArgumentFacts a : {kAligned, kTransposed})
    for (const runtime::ArgumentFacts b : {kAligned, kTransposed}) {
      const Outcome outcome = compiles(matrix_product<i8>.source(), schedule, {a, b, kAligned});
      CHECK(outcome.ptx.find("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32") != std::string::npos);
      CHECK(outcome.ptx.find("cp.async.cg") != std::string::npos);
      const bool matrices = a.unit_stride_axis == 1 || b.unit_stride_axis == 0;  // K is contiguous
      CHECK((outcome.ptx.find("ldmatrix") != std::string::npos) == matrices);
    }
}

TEST_CASE("a product of f32 matrices is a chain of fma") {
  const Outcome outcome = compiles(matrix_product<f32>.source(), {.dims = {BM = 64, BN = 64, BK = 16}},
                                   {kAligned, kAligned, kAligned});
  CHECK(outcome.ptx.find("fma.rn.f32") != std::string::npos);
}

TEST_CASE("rows scaled by their largest and their sum") {
  compiles(rows<f32>.source(), {.dims = {BLOCK = 1000}}, {kAligned, kAligned});
  compiles(rows<bf16>.source(), {.dims = {BLOCK = 8192}}, {kAligned, kAligned});
}

TEST_CASE("a loop carries tiles of several shapes") {
  const Kernel totals{"totals", [](View<const f32, 2> in, View<f32, 2> out, View<f32, 1> sums) {
                        auto [m] = tile_id<BM>(in.extent(0));
                        Var total = zeros<f32, BM, BN>();
                        Var rows = zeros<f32, BM, 1>();
                        for (auto k : reduction(in.extent(1), BN)) {
                          auto x = load<BM, BN>(in, {m, k});
                          total += x;
                          rows += sum<1>(x);
                        }
                        store(out, {m, 0}, total);
                        store(sums, {m}, squeeze<1>(rows));
                      }};
  compiles(totals.source(), {.dims = {BM = 32, BN = 64}},
           {kAligned, kAligned, {.unit_stride_axis = 0, .aligned16 = true}});
}

TEST_CASE("the bits of one 16-bit float type are read as another's") {
  const Kernel bits{"bits", [](View<const bf16, 1> in, View<f16, 1> out) {
                      auto [i] = tile_id<BLOCK>(in);
                      store(out, {i}, bitcast<f16>(sqrt(load<BLOCK>(in, {i}))));
                    }};
  constexpr runtime::ArgumentFacts kVector{.unit_stride_axis = 0, .aligned16 = true};
  compiles(bits.source(), {.dims = {BLOCK = 1024}}, {kVector, kVector});
}
