// The programs of a run: starts, watches and ends them.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/command.hpp"

namespace gangway::live {

class LivePrograms {
 public:
  // Output is appended to NAME.log in `folder`.
  LivePrograms(std::string socket, std::string folder);
  ~LivePrograms();  // ends all: SIGTERM, then SIGKILL after 5 s
  LivePrograms(const LivePrograms&) = delete;
  LivePrograms& operator=(const LivePrograms&) = delete;

  // Starts the command under gangway exec, in a process group of its own, on that GPU of the daemon's; none:
  // the daemon chooses. RunError on failure.
  void start(const std::string& name, const Command& command, std::optional<unsigned> gpu = std::nullopt);
  // Additional environment variables (NAME=VALUE) for programs started from now on.
  void give(std::vector<std::string> variables) { variables_ = std::move(variables); }
  bool runs(const std::string& name) const { return programs_.count(name) != 0; }
  const Command& command(const std::string& name) const { return programs_.at(name).command; }
  // Polls for the end of a program. After it has been reported, the program is forgotten.
  struct End {
    bool well = false;  // exit code 0
    std::string how;    // "exit code 3", "signal 9"
    std::string last;   // last line of its output
  };
  bool ended(const std::string& name, End& end);
  void end(const std::string& name);  // as the destructor does

 private:
  struct Program {
    Command command;
    pid_t process = 0;
    std::string log;
  };
  std::string socket_, folder_;
  std::vector<std::string> variables_;
  std::map<std::string, Program> programs_;
};

}  // namespace gangway::live
