// Schedule <-> JSON: the one description of the fields' names and shapes. The text form is another spelling
// of the same document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "codegen/ir/schedule.h"

namespace heddle::codegen {

nlohmann::ordered_json to_json(const Schedule& schedule);             // fields at their defaults are left out
Schedule schedule_from_json(const nlohmann::ordered_json& document);  // throws Error (parse)

// The document as JSON text, on one line. Where the library's own dump() would throw, at bytes that are no
// UTF-8, there are replacement characters.
std::string json_text(const nlohmann::ordered_json& document);

bool is_schedule_field(std::string_view name);
std::string schedule_field_list();  // "dims, work, ...", for messages

// Whether a dim can be called so: as things are in C++, where letters beyond ASCII are letters.
bool is_dim_name(std::string_view name);

// More names than any group of a schedule can hold. Objects are searched name by name, so that a hostile
// text's cost grows with the square of their number.
constexpr size_t kMostNames = 64;

}  // namespace heddle::codegen
