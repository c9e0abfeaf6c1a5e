// The daemon's status, and how to request it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hw/live/client.hpp"
#include "hw/live/conductor.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/gpus/gpu_list.hpp"
#include "hw/live/gpus/placement.hpp"

namespace gangway::live {

// Of all clients so far, also those that have gone. They only grow.
struct Totals {
  std::uint64_t clients = 0, jobs = 0, submissions = 0, killed = 0;
  std::uint64_t returned = 0;  // permits, to clients that had not drained within the limit
};
struct DaemonFacts {
  std::string policy;
  Duration up;  // since it began to listen
  Totals totals = {};
  std::uint64_t texts = 0;  // made so far, with this one
  bool looks_all_the_time = false;
  struct OnGpu {
    const GpuFacts* facts = nullptr;
    const Keeper* keeper = nullptr;
    GpuLoad load;
    std::optional<double> use;  // share of the window, 0 to 1; none: not known
  };
  Duration use_window = {};
  std::vector<OnGpu> gpus;                    // at least one
  std::string place;                          // of several
  std::uint64_t moves = 0, failed_moves = 0;  // of clients between GPUs, so far
  std::optional<bool> checkpoints = {};       // whether they are possible; none: nobody asked for them
  // On a GPU and no clients, as of its latest look; none: it has not looked.
  std::optional<DeviceProcesses> others = {};
};
struct ClientFacts {
  const LiveClient* client = nullptr;
  bool scheduled = true;
  Conductor::State state;
  Keeper::Facts memory;
  unsigned gpu = 0;    // its number
  bool moves = false;  // it is moving to another one
  std::optional<double> demand = {};
  // Share of the window in which work of it was on the GPU, divided by the clients with some; none: not
  // known.
  std::optional<double> use = {};
};

// JSON as described in README.md.
std::string status_text(const DaemonFacts& daemon, const std::vector<ClientFacts>& clients);

// A sealed file with that text. Not engaged on failure.
Descriptor status_file(const std::string& text);

// Requests the status of the daemon on that socket. RunError if there is none or it does not answer.
std::string ask_for_status(const std::string& socket);

}  // namespace gangway::live
