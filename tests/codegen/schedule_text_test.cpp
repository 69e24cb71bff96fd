// Schedules as text and JSON: what is printed parses back equal, and wrong text is refused by name.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <string>

#include "codegen/ir/error.h"
#include "codegen/ir/intern.h"
#include "codegen/ir/schedule.h"

namespace heddle {
namespace {

std::string text_of(const Schedule& schedule) {
  std::string out(size_t(print(schedule, nullptr, 0)), '\0');
  print(schedule, out.data(), int64_t(out.size()) + 1);
  return out;
}

std::string json_of(const Schedule& schedule) {
  std::string out(size_t(print_json(schedule, nullptr, 0)), '\0');
  print_json(schedule, out.data(), int64_t(out.size()) + 1);
  return out;
}

std::string complaint(const std::string& text) {
  try {
    parse_schedule(text.c_str());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::parse);
    return error.message();
  }
  return "(accepted)";
}

Schedule random_schedule(std::mt19937& random) {
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  Schedule s;
  const char* names[] = {"BM",
                         "BN",
                         "BK",
                         "work",
                         "HEAD_DIM",
                         "pdl",
                         "_\u03b2"
                         "1"};
  for (const char* name : names)
    if (pick(0, 1)) s.dims.add({.name = name, .value = pick(1, 4096)});
  switch (pick(0, 3)) {
    case 1: s.work = persistent{.workers = pick(0, 132), .dynamic = pick(0, 1) == 1}; break;
    case 2: s.work = split_k{.parts = pick(1, 16), .fixup = Fixup(pick(0, 6))}; break;
    case 3:
      s.work = stream_k{.workers = pick(0, 132), .min_steps = pick(1, 8), .fixup = Fixup(pick(0, 6))};
      break;
  }
  switch (pick(0, 3)) {
    case 1: s.order = grouped{pick(1, 16)}; break;
    case 2: s.order = serpentine{pick(1, 16)}; break;
    case 3: s.order = hilbert{}; break;
  }
  s.order.raster = Raster(pick(0, 1));
  s.loads = {.stages = pick(0, 6), .engine = Engine(pick(0, 3))};
  if (pick(0, 1))
    s.warps = uniform{.warps = pick(0, 16), .ctas_per_sm = pick(0, 2)};
  else
    s.warps = warp_specialize{.producers = pick(1, 2),
                              .consumers = pick(1, 3),
                              .sharing = Sharing(pick(0, 1)),
                              .registers = pick(0, 240)};
  s.cluster = {.m = pick(1, 2), .n = pick(1, 2), .multicast = pick(0, 1) == 1};
  s.epilogue = {.subtile = pick(0, 64), .overlap = pick(0, 1) == 1, .store = Epilogue::Store(pick(0, 2))};
  s.swap_ab = pick(0, 1);
  s.pdl = pick(0, 1);
  s.numerics.kind = Numerics::Kind(pick(0, 3));
  if (s.numerics.kind == Numerics::Kind::chunks) s.numerics.count = pick(0, 9);
  return s;
}

}  // namespace

TEST_CASE("a schedule reads as it was written") {
  const Schedule s{
      .dims = {{"BM", 128}, {"BN", 256}}, .work = persistent{.workers = 132}, .order = grouped{8}};
  CHECK(text_of(s) == "BM=128, BN=256, work=persistent{workers=132}, order=grouped{size=8}");
  CHECK(
      json_of(s) ==
      R"({"dims":{"BM":128,"BN":256},"work":{"persistent":{"workers":132}},"order":{"grouped":{"size":8}}})");
  CHECK(text_of({}) == "");
  CHECK(json_of({}) == "{}");
}

TEST_CASE("short spellings mean the same") {
  CHECK(parse_schedule(" BM = 64 ,order=grouped{4}, work=persistent ") ==
        Schedule{.dims = {{"BM", 64}}, .work = persistent{}, .order = grouped{4}});
  CHECK(parse_schedule("work=split_k{8}") == Schedule{.work = split_k{.parts = 8}});
  CHECK(parse_schedule("work=persistent{workers=4, dynamic}") ==
        Schedule{.work = persistent{.workers = 4, .dynamic = true}});
  CHECK(parse_schedule("numerics=chunks{4}") == Schedule{.numerics = chunks(4)});
  CHECK(parse_schedule("warps=warp_specialize") == Schedule{.warps = warp_specialize{}});
  CHECK(parse_schedule("") == Schedule{});
}

TEST_CASE("print then parse is the identity, for both forms") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const Schedule s = random_schedule(random);
    INFO(text_of(s));
    CHECK(parse_schedule(text_of(s).c_str()) == s);
    CHECK(parse_schedule(json_of(s).c_str()) == s);
  }
}

TEST_CASE("wrong text is refused, naming the word and what is allowed") {
  CHECK(complaint("work=splitk") ==
        "schedule: 'splitk' is no value of work; allowed are: data_parallel, persistent, split_k, stream_k");
  CHECK(complaint("work=persistent{parts=3}") ==
        "schedule: work has no field 'parts'; its fields are: workers, dynamic");
  CHECK(complaint("BM=128, BM=64").find("'BM' is given twice") != std::string::npos);
  CHECK(complaint("BM=0").find("dim BM is 0") != std::string::npos);
  CHECK(complaint("BM=99999999999999999999").find("no number that fits") != std::string::npos);
  CHECK(complaint("BM=1,").find("a field or dim is expected at character 6") != std::string::npos);
  CHECK(complaint("BM").find("'=' is expected at character 3") != std::string::npos);
  CHECK(complaint("work=persistent{workers=-1}").find("at character") != std::string::npos);
  CHECK(complaint("{\"wrk\": 1}").find("there is no field 'wrk'") != std::string::npos);
  CHECK(complaint("{\"dims\": {\"BM\": 1.5}}").find("dim BM is 1.5") != std::string::npos);
  CHECK(complaint("{\"work\": {\"persistent\": {\"workers\": -3}}}").find("whole number of at least 0") !=
        std::string::npos);
  CHECK(complaint("dims=5, BM=2").find("'dims' is 5, no group that BM could join") != std::string::npos);
  CHECK(complaint("dims=x, BM=2").find("'dims' is \"x\"") != std::string::npos);
  CHECK(complaint("{").find("not well-formed JSON") != std::string::npos);
  CHECK(complaint("{\"dims\":" + std::string(200000, '[')).find("nested more than 4 deep") !=
        std::string::npos);
}

TEST_CASE("a name given twice is refused, in every group and both forms") {
  CHECK(complaint(R"({"pdl": true, "pdl": true})") == "schedule: \"pdl\" is given twice in one group");
  CHECK(complaint(R"({"dims": {"BM": 64, "BN": 32, "BM": 64}})").find("\"BM\" is given twice") !=
        std::string::npos);
  CHECK(complaint(R"({"dims": {"BM": 64, "B\u004d": 32}})").find("\"BM\" is given twice") !=
        std::string::npos);
  CHECK(complaint(R"({"work": {"persistent": {"workers": 1, "workers": 2}}})").find("\"workers\" is given") !=
        std::string::npos);
  CHECK(
      parse_schedule(R"({"loads": {"stages": 2}, "dims": {"loads": 3, "stages": 4}})") ==
      Schedule{.dims = {{"loads", 3}, {"stages", 4}}, .loads = {.stages = 2}});  // each in a group of its own
  for (const char* text : {"pdl=true, pdl=true", "BM=1, dims={BM=1}", "loads={stages=1, stages=1}"})
    CHECK(complaint(text).find("is given twice") != std::string::npos);
}

TEST_CASE("a field's name with a slip is told from a dim's, and the fields are named") {
  CHECK(
      complaint("BM=64, ordr=row") ==
      "schedule: 'ordr' is none of the fields (dims, work, order, loads, warps, cluster, epilogue, swap_ab, "
      "pdl, numerics), and a dim takes a number, not \"row\", at character 16 of \"BM=64, ordr=row\"");
  for (const char* text : {"works=persistent{4}", "load={stages=3}", "pdll=true"})
    CHECK(complaint(text).find("is none of the fields (dims, work,") != std::string::npos);
}

TEST_CASE("what is no name of a dim is refused, so that both forms read back") {
  for (const char* name : {"", "a b", "x=1", "1x", "B\\n", "B\\u0000M", "a-b"})
    CHECK(complaint(fmt::format(R"({{"dims": {{"{}": 2}}}})", name)).find("can't be a dim's name") !=
          std::string::npos);
  CHECK(complaint("1x=2").find("\"1x\" can't be a dim's name") != std::string::npos);
  CHECK(complaint("B\xff=2").find("can't be a dim's name") != std::string::npos);  // no UTF-8
  CHECK(parse_schedule("\u03b2=2") == Schedule{.dims = {{"\u03b2", 2}}});
}

TEST_CASE("numbers have the range of the fields that hold them") {
  const Schedule most{.work = persistent{.workers = INT64_MAX}};
  CHECK(parse_schedule(text_of(most).c_str()) == most);
  CHECK(parse_schedule(json_of(most).c_str()) == most);
  CHECK(complaint("work=persistent{9223372036854775808}").find("no number that fits") != std::string::npos);
}

TEST_CASE("hostile text costs no time") {
  std::string text, json;
  for (int i = 0; i < 300000; ++i) {
    text += fmt::format("{}d{}=1", i ? "," : "", i);
    json += fmt::format("{}\"d{}\":1", i ? "," : "", i);
  }
  CHECK(complaint(text).find("more than 64 names are given") != std::string::npos);
  CHECK(complaint("{\"dims\":{" + json + "}}").find("more than 64 names are given") != std::string::npos);
  CHECK(complaint("work=persistent{" + text + "}").find("more than 64 names are given") != std::string::npos);
}

TEST_CASE("damaged text never does worse than an Error") {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 2 ? text_of(random_schedule(random)) : json_of(random_schedule(random));
    for (int hit = 0; hit < 3 && !text.empty(); ++hit)
      text[random() % text.size()] = char(32 + random() % 95);
    try {
      parse_schedule(text.c_str());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::parse);
    }
  }
}

}  // namespace heddle
