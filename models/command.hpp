// The program behind a client, for worlds that run programs as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

struct Command {
  std::vector<std::string> words;  // the program and its arguments
  std::string folder;              // it works there
  std::string jobs = "sync";       // what its jobs are: sync, nvtx:NAME or whole
  std::uint32_t skip = 10;         // jobs at its start that are warm-up

  friend bool operator==(const Command&, const Command&) = default;
};

}  // namespace gangway
