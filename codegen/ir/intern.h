// Strings that live as long as the process, for names that arrive as text (parsed schedules, parsed
// locations).
#pragma once

#include <string_view>

namespace heddle {

const char* intern(std::string_view text);

}  // namespace heddle
