#include "tests/standin/engine/environment.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace gangway::standin {

std::string environment_text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

double environment_number(const char* name, double otherwise) {
  const std::string text = environment_text(name, "");
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value) || value <= 0)
    environment_error(name, text, "expected a positive number");
  return value;
}

void environment_error(const char* name, const std::string& value, const std::string& why) {
  std::fprintf(stderr, "stand-in: %s: '%s': %s\n", name, value.c_str(), why.c_str());
  std::_Exit(2);
}

}  // namespace gangway::standin
