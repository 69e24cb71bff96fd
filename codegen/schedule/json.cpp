// Each part of a Schedule is visited by one function that serves writing and reading, so the two can't drift
// apart.
#include "codegen/schedule/json.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"

namespace heddle::codegen {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFields[] = {"dims",    "work",     "order",   "loads", "warps",
                                   "cluster", "epilogue", "swap_ab", "pdl",   "numerics"};

template <class E>
struct Word {
  const char* name;
  E value;
};

constexpr Word<Fixup> kFixups[] = {{"automatic", Fixup::automatic}, {"handoff", Fixup::handoff},
                                   {"turnstile", Fixup::turnstile}, {"slots", Fixup::slots},
                                   {"cluster", Fixup::cluster},     {"two_pass", Fixup::two_pass},
                                   {"atomic", Fixup::atomic}};
constexpr Word<Raster> kRasters[] = {{"along_rows", Raster::along_rows},
                                     {"along_columns", Raster::along_columns}};
constexpr Word<Engine> kEngines[] = {{"automatic", Engine::automatic},
                                     {"tma", Engine::tma},
                                     {"cp_async", Engine::cp_async},
                                     {"plain", Engine::plain}};
constexpr Word<Sharing> kSharings[] = {{"cooperative", Sharing::cooperative},
                                       {"pingpong", Sharing::pingpong}};
constexpr Word<Epilogue::Store> kStores[] = {{"automatic", Epilogue::Store::automatic},
                                             {"tma", Epilogue::Store::tma},
                                             {"plain", Epilogue::Store::plain}};
constexpr Word<Work::Kind> kWorks[] = {{"data_parallel", Work::Kind::data_parallel},
                                       {"persistent", Work::Kind::persistent},
                                       {"split_k", Work::Kind::split_k},
                                       {"stream_k", Work::Kind::stream_k}};
constexpr Word<Order::Kind> kOrders[] = {{"row", Order::Kind::row},
                                         {"grouped", Order::Kind::grouped},
                                         {"serpentine", Order::Kind::serpentine},
                                         {"hilbert", Order::Kind::hilbert}};
constexpr Word<Warps::Kind> kWarps[] = {{"uniform", Warps::Kind::uniform},
                                        {"warp_specialize", Warps::Kind::warp_specialize}};
constexpr Word<Numerics::Kind> kNumerics[] = {{"reproducible", Numerics::Kind::reproducible},
                                              {"linear", Numerics::Kind::linear},
                                              {"chunks", Numerics::Kind::chunks},
                                              {"any", Numerics::Kind::any}};

template <class E, size_t N>
const char* word_of(const Word<E> (&words)[N], E value) {
  for (const Word<E>& word : words)
    if (word.value == value) return word.name;
  return "?";
}

template <class E, size_t N>
E word_value(const Word<E> (&words)[N], const std::string& field, const std::string& text) {
  std::string allowed;
  for (const Word<E>& word : words) {
    if (text == word.name) return word.value;
    allowed += std::string(allowed.empty() ? "" : ", ") + word.name;
  }
  fail(ErrorKind::parse, {}, "schedule: '{}' is no value of {}; allowed are: {}", text, field, allowed);
}

// Writes the fields that differ from `standard`'s.
class Writer {
 public:
  Json document = Json::object();

  void number(const char* name, int64_t value, int64_t standard) {
    if (value != standard) document[name] = value;
  }
  void flag(const char* name, bool value, bool standard) {
    if (value != standard) document[name] = value;
  }
  template <class E, size_t N>
  void word(const char* name, const Word<E> (&words)[N], E value, E standard) {
    if (value != standard) document[name] = word_of(words, value);
  }
};

// Reads the fields that are present; finish() refuses those that nobody asked for.
class Reader {
 public:
  Reader(std::string where, const Json& document) : where_(std::move(where)), document_(document) {
    if (!document.is_object())
      fail(ErrorKind::parse, {}, "schedule: {} is {}, but a group of named fields is expected", where_,
           json_text(document));
  }

  void number(const char* name, int64_t& value, int64_t) {
    const Json* field = take(name);
    if (!field) return;
    if (!field->is_number_integer() ||
        (field->is_number_unsigned() && field->get<uint64_t>() > uint64_t(INT64_MAX)) ||
        field->get<int64_t>() < 0)
      fail(ErrorKind::parse, {}, "schedule: {}.{} is {}, but a whole number of at least 0 is expected",
           where_, name, json_text(*field));
    value = field->get<int64_t>();
  }
  void flag(const char* name, bool& value, bool) {
    const Json* field = take(name);
    if (!field) return;
    if (!field->is_boolean())
      fail(ErrorKind::parse, {}, "schedule: {}.{} is {}, but true or false is expected", where_, name,
           json_text(*field));
    value = field->get<bool>();
  }
  template <class E, size_t N>
  void word(const char* name, const Word<E> (&words)[N], E& value, E) {
    const Json* field = take(name);
    if (!field) return;
    if (!field->is_string())
      fail(ErrorKind::parse, {}, "schedule: {}.{} is {}, but a word is expected", where_, name,
           json_text(*field));
    value = word_value(words, where_ + "." + name, field->get<std::string>());
  }
  void finish() {
    for (const auto& [name, value] : document_.items()) {
      bool known = false;
      for (const std::string& taken : known_) known = known || taken == name;
      if (known) continue;
      std::string allowed;
      for (const std::string& taken : known_) allowed += (allowed.empty() ? "" : ", ") + taken;
      fail(ErrorKind::parse, {}, "schedule: {} has no field '{}'; its fields are: {}", where_, name,
           allowed.empty() ? "none" : allowed);
    }
  }

 private:
  const Json* take(const char* name) {
    known_.push_back(name);
    auto found = document_.find(name);
    return found == document_.end() ? nullptr : &*found;
  }

  std::string where_;
  const Json& document_;
  std::vector<std::string> known_;
};

// The parts: `Visitor` is a Writer over const parts or a Reader over mutable ones.
template <class Visitor, class W>
void visit_work(Visitor& v, W& work) {
  const Work standard;
  if (work.kind == Work::Kind::persistent) {
    v.number("workers", work.workers, 0);
    v.flag("dynamic", work.dynamic, false);
  } else if (work.kind == Work::Kind::split_k) {
    v.number("parts", work.parts, standard.parts);
    v.word("fixup", kFixups, work.fixup, standard.fixup);
  } else if (work.kind == Work::Kind::stream_k) {
    v.number("workers", work.workers, 0);
    v.number("min_steps", work.min_steps, standard.min_steps);
    v.word("fixup", kFixups, work.fixup, standard.fixup);
  }
}

template <class Visitor, class O>
void visit_order(Visitor& v, O& order) {
  if (order.kind == Order::Kind::grouped || order.kind == Order::Kind::serpentine)
    v.number("size", order.size, -1);
  v.word("raster", kRasters, order.raster, Raster::along_rows);
}

template <class Visitor, class P>
void visit_loads(Visitor& v, P& loads) {
  v.number("stages", loads.stages, 0);
  v.word("engine", kEngines, loads.engine, Engine::automatic);
}

template <class Visitor, class W>
void visit_warps(Visitor& v, W& warps) {
  if (warps.kind == Warps::Kind::uniform) {
    v.number("warps", warps.warps, 0);
    v.number("ctas_per_sm", warps.ctas_per_sm, 0);
  } else {
    v.number("producers", warps.producers, -1);
    v.number("consumers", warps.consumers, -1);
    v.word("sharing", kSharings, warps.sharing, Sharing::cooperative);
    v.number("registers", warps.registers, 0);
  }
}

template <class Visitor, class C>
void visit_cluster(Visitor& v, C& cluster) {
  v.number("m", cluster.m, 1);
  v.number("n", cluster.n, 1);
  v.flag("multicast", cluster.multicast, true);
}

template <class Visitor, class E>
void visit_epilogue(Visitor& v, E& epilogue) {
  v.number("subtile", epilogue.subtile, 0);
  v.flag("overlap", epilogue.overlap, false);
  v.word("store", kStores, epilogue.store, Epilogue::Store::automatic);
}

template <class Part, class Visit>
Json write(const Part& part, Visit visit) {
  Writer writer;
  visit(writer, part);
  return std::move(writer.document);
}

// {"persistent": {...}}, or "persistent" where all its fields are at their defaults.
Json choice(const char* name, Json fields) {
  if (fields.empty()) return name;
  Json document = Json::object();
  document[name] = std::move(fields);
  return document;
}

// The field that a number alone stands for: split_k{8}, grouped{4}.
const char* lone_field(const std::string& choice) {
  if (choice == "persistent" || choice == "stream_k") return "workers";
  if (choice == "split_k") return "parts";
  if (choice == "grouped" || choice == "serpentine") return "size";
  if (choice == "uniform") return "warps";
  if (choice == "warp_specialize") return "consumers";
  return "count";
}

// The name and fields of a choice in any of its spellings.
std::pair<std::string, Json> read_choice(const std::string& field, const Json& document) {
  if (document.is_string()) return {document.get<std::string>(), Json::object()};
  if (!document.is_object() || document.size() != 1)
    fail(ErrorKind::parse, {},
         "schedule: {} is {}, but one choice is expected, such as \"name\" or {{\"name\": {{...}}}}", field,
         json_text(document));
  const auto item = document.items().begin();
  Json fields = item.value();
  if (!fields.is_object()) fields = Json::object({{lone_field(item.key()), fields}});
  return {item.key(), fields};
}

void read_dims(const Json& document, Dims& dims) {
  if (!document.is_object())
    fail(ErrorKind::parse, {}, "schedule: dims is {}, but a group of names and numbers is expected",
         json_text(document));
  for (const auto& [name, value] : document.items()) {
    if (!is_dim_name(name))
      fail(ErrorKind::parse, {}, "schedule: {} can't be a dim's name: letters, digits and _ can",
           json_text(name));
    if (!value.is_number_integer() || value.get<int64_t>() <= 0 || value.get<int64_t>() > INT32_MAX)
      fail(ErrorKind::parse, {},
           "schedule: dim {} is {}, but a whole number from 1 to 2147483647 is expected", name,
           json_text(value));
    dims.add({.name = intern(name), .value = value.get<int64_t>()});
  }
  if (dims.count > Dims::kMax)
    fail(ErrorKind::parse, {}, "schedule: {} dims are bound; at most {} fit", dims.count, Dims::kMax);
}

template <class Part, class Visit>
void read_part(const std::string& name, const Json& document, Part& part, Visit visit) {
  Reader reader(name, document);
  visit(reader, part);
  reader.finish();
}

}  // namespace

#define HEDDLE_VISIT(function) [](auto& visitor, auto& part) { function(visitor, part); }

Json to_json(const Schedule& schedule) {
  const Schedule standard;
  Json document = Json::object();
  for (int i = 0; i < schedule.dims.count && i < Dims::kMax; ++i)
    document["dims"][schedule.dims.bindings[i].name] = schedule.dims.bindings[i].value;
  if (schedule.work != standard.work)
    document["work"] =
        choice(word_of(kWorks, schedule.work.kind), write(schedule.work, HEDDLE_VISIT(visit_work)));
  if (schedule.order != standard.order)
    document["order"] =
        choice(word_of(kOrders, schedule.order.kind), write(schedule.order, HEDDLE_VISIT(visit_order)));
  if (schedule.loads != standard.loads) document["loads"] = write(schedule.loads, HEDDLE_VISIT(visit_loads));
  if (schedule.warps != standard.warps)
    document["warps"] =
        choice(word_of(kWarps, schedule.warps.kind), write(schedule.warps, HEDDLE_VISIT(visit_warps)));
  if (schedule.cluster != standard.cluster)
    document["cluster"] = write(schedule.cluster, HEDDLE_VISIT(visit_cluster));
  if (schedule.epilogue != standard.epilogue)
    document["epilogue"] = write(schedule.epilogue, HEDDLE_VISIT(visit_epilogue));
  if (schedule.swap_ab) document["swap_ab"] = true;
  if (schedule.pdl) document["pdl"] = true;
  if (schedule.numerics != standard.numerics) {
    Json fields = Json::object();
    if (schedule.numerics.kind == Numerics::Kind::chunks) fields["count"] = schedule.numerics.count;
    document["numerics"] = choice(word_of(kNumerics, schedule.numerics.kind), std::move(fields));
  }
  return document;
}

Schedule schedule_from_json(const Json& document) {
  Schedule schedule;
  if (!document.is_object())
    fail(ErrorKind::parse, {}, "schedule: {} is no group of named fields", json_text(document));
  for (const auto& [name, value] : document.items()) {
    if (name == "dims") {
      read_dims(value, schedule.dims);
    } else if (name == "work") {
      auto [kind, fields] = read_choice(name, value);
      schedule.work.kind = word_value(kWorks, name, kind);
      read_part("work", fields, schedule.work, HEDDLE_VISIT(visit_work));
    } else if (name == "order") {
      auto [kind, fields] = read_choice(name, value);
      schedule.order.kind = word_value(kOrders, name, kind);
      if (schedule.order.kind == Order::Kind::grouped) schedule.order.size = grouped{}.size;
      if (schedule.order.kind == Order::Kind::serpentine) schedule.order.size = serpentine{}.size;
      read_part("order", fields, schedule.order, HEDDLE_VISIT(visit_order));
    } else if (name == "loads") {
      read_part(name, value, schedule.loads, HEDDLE_VISIT(visit_loads));
    } else if (name == "warps") {
      auto [kind, fields] = read_choice(name, value);
      if (word_value(kWarps, name, kind) == Warps::Kind::warp_specialize) schedule.warps = warp_specialize{};
      read_part("warps", fields, schedule.warps, HEDDLE_VISIT(visit_warps));
    } else if (name == "cluster") {
      read_part(name, value, schedule.cluster, HEDDLE_VISIT(visit_cluster));
    } else if (name == "epilogue") {
      read_part(name, value, schedule.epilogue, HEDDLE_VISIT(visit_epilogue));
    } else if (name == "swap_ab" || name == "pdl") {
      if (!value.is_boolean())
        fail(ErrorKind::parse, {}, "schedule: {} is {}, but true or false is expected", name,
             json_text(value));
      (name == "pdl" ? schedule.pdl : schedule.swap_ab) = value.get<bool>();
    } else if (name == "numerics") {
      auto [kind, fields] = read_choice(name, value);
      schedule.numerics.kind = word_value(kNumerics, name, kind);
      read_part("numerics", fields, schedule.numerics, [](auto& visitor, auto& numerics) {
        if (numerics.kind == Numerics::Kind::chunks) visitor.number("count", numerics.count, 0);
      });
    } else {
      fail(ErrorKind::parse, {}, "schedule: there is no field '{}'; the fields are: {}", name,
           schedule_field_list());
    }
  }
  return schedule;
}

#undef HEDDLE_VISIT

std::string json_text(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_schedule_field(std::string_view name) {
  return std::find(std::begin(kFields), std::end(kFields), name) != std::end(kFields);
}

std::string schedule_field_list() {
  return fmt::format("{}", fmt::join(kFields, ", "));
}

bool is_dim_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  }) && json_text(Json(name)) == fmt::format("\"{}\"", name);  // not so where it is no UTF-8
}

}  // namespace heddle::codegen
