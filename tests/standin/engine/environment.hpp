// The variables STANDIN_*: a value that cannot be read ends the process with one line.
#pragma once

#include <string>

namespace gangway::standin {

std::string environment_text(const char* name, const char* otherwise);
double environment_number(const char* name, double otherwise);  // positive
[[noreturn]] void environment_error(const char* name, const std::string& value, const std::string& why);

}  // namespace gangway::standin
