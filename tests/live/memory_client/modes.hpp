// What the program can do; each registers itself.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tests/live/memory_client/program.hpp"

namespace gangway::memory_client {

struct Arguments {
  int steps = 0;
  std::size_t most = 0;        // bytes
  const char* file = nullptr;  // null: none is named
};

// Does it and returns the program's exit code.
using Play = int (*)(Program& program, const Arguments& arguments);

struct Mode {
  Mode(const char* name, Play play) { all()[name] = play; }
  static std::map<std::string, Play>& all() {
    static std::map<std::string, Play> modes;
    return modes;
  }
};

}  // namespace gangway::memory_client
