// Native clients in processes of their own, each with a context of its own on the device.
//
// Both ends talk in lines of JSON. A process is asked one thing at a time and answers each with one line:
//   {"setup": ...}           once, before anything else
//   {"prepare": RUN}
//   {"play": NS}             the origin, by the clock that all processes of the machine share. While it
//                            plays, a line {"stop": true} may come, which has no answer of its own
//   {"collect": true}        answered by what was measured
//   {"poison": true}         {"difference": true}, answered by a text
// An answer is {"done": ...}, or {"error": TEXT}, after which the process ends.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hw/native/player.hpp"

namespace gangway {

// The requesting end. All calls throw RunError if the process has ended or reports an error.
class NativeProcess {
 public:
  // Starts `command`, which must call play_as_asked() with its standard streams. `environment`: additional
  // variables (NAME=VALUE). `whose`: for errors.
  NativeProcess(std::string whose, const std::vector<std::string>& command,
                const std::vector<std::string>& environment);
  // Lets the process end; forces it after `kPatience`.
  ~NativeProcess();
  NativeProcess(const NativeProcess&) = delete;
  NativeProcess& operator=(const NativeProcess&) = delete;

  void ask(const nlohmann::json& what);
  // Waits up to `limit` for an answer; returns whether it is there.
  bool answered(Duration limit);
  nlohmann::json answer();  // waits

 private:
  [[noreturn]] void has_ended() const;
  bool read_more(int milliseconds);  // whether something arrived

  std::string whose_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string text_;  // read, not yet processed
};

// The other end: carries out requests from descriptor `in` and answers on `out`, until `in` ends. A process
// of its own should ignore SIGPIPE, and SIGINT, because the requester decides when to stop.
void play_as_asked(int in, int out, const MakeNativePlayer& make);

// Path of `gangway`: this program, the one beside it, or the one in PATH. RunError if there is none.
std::string gangway_program();
// The command of a process that plays native clients of the world `cuda`.
std::vector<std::string> native_process_command();

}  // namespace gangway
