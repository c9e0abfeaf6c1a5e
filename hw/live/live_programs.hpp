// The programs of a run: started under a daemon, watched, and ended.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/command.hpp"

namespace gangway::live {

class LivePrograms {
 public:
  // Their outputs go to NAME.log in `folder`, one behind the other.
  LivePrograms(std::string socket, std::string folder);
  ~LivePrograms();  // ends them all: SIGTERM, and SIGKILL to those that are still there after 5 s
  LivePrograms(const LivePrograms&) = delete;
  LivePrograms& operator=(const LivePrograms&) = delete;

  // By gangway exec, in a process group of its own. RunError where that cannot be started.
  void start(const std::string& name, const Command& command);
  // Variables (NAME=VALUE) that programs get from now on, besides this process's.
  void give(std::vector<std::string> variables) { variables_ = std::move(variables); }
  bool runs(const std::string& name) const { return programs_.count(name) != 0; }
  const Command& command(const std::string& name) const { return programs_.at(name).command; }
  // Looks after its end. Once it has ended: how, and it is forgotten.
  struct End {
    bool well = false;  // exit code 0
    std::string how;    // "exit code 3", "signal 9"
    std::string last;   // line of its output
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
