// What the program can do; each registers itself.
#pragma once

#include <map>
#include <string>

#include "tests/live/forms_client/gpu.hpp"

namespace gangway::forms_client {

// Does it and returns the program's exit code. `argument`: how often, unless the mode says otherwise.
using Play = int (*)(Gpu& gpu, const char* argument);

struct Mode {
  Mode(const char* name, Play play) { all()[name] = play; }
  static std::map<std::string, Play>& all() {
    static std::map<std::string, Play> modes;
    return modes;
  }
};

}  // namespace gangway::forms_client
