// Schedule <-> JSON: the one description of the fields' names and shapes. The text form is another spelling
// of the same document.
#pragma once

#include <nlohmann/json.hpp>

#include "codegen/ir/schedule.h"

namespace heddle::codegen {

nlohmann::ordered_json to_json(const Schedule& schedule);             // fields at their defaults are left out
Schedule schedule_from_json(const nlohmann::ordered_json& document);  // throws Error (parse)

}  // namespace heddle::codegen
