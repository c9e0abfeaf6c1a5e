// What a daemon tells of itself and its clients, and how it is asked.
#pragma once

#include <string>
#include <vector>

#include "hw/live/client.hpp"
#include "hw/live/conductor.hpp"

namespace gangway::live {

struct DaemonFacts {
  std::string policy;
  Duration up;                // since it listens
  std::uint64_t clients = 0;  // so far
  bool looks_all_the_time = false;
  const Keeper* keeper = nullptr;
};
struct ClientFacts {
  const LiveClient* client = nullptr;
  bool scheduled = true;
  Conductor::State state;
  Keeper::Facts memory;
};

// JSON, as the README has it.
std::string status_text(const DaemonFacts& daemon, const std::vector<ClientFacts>& clients);

// A file of that text, sealed. Not engaged where there is none to be had.
Descriptor status_file(const std::string& text);

// Asks the daemon that listens there for its status. RunError where there is none, or it does not answer.
std::string ask_for_status(const std::string& socket);

}  // namespace gangway::live
