// The program behind a client, for worlds that run unmodified programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

struct Command {
  std::vector<std::string> words;  // the program and its arguments
  std::string folder;              // working directory
  std::string jobs = "sync";       // what counts as a job: sync, nvtx:NAME or whole
  std::uint32_t skip = 10;         // first jobs, which are warm-up

  friend bool operator==(const Command&, const Command&) = default;
};

}  // namespace gangway
