// Small recordings made by hand, played by the simulator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/granting.hpp"
#include "models/metrics/run_meter.hpp"
#include "models/placing.hpp"
#include "models/policy.hpp"
#include "models/recorded.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"
#include "tests/models/recording/made_recording.hpp"

namespace gangway::testing {

// Recordings as clients of one GPU, in ns.
class RecordedScenario {
 public:
  // One GPU without delays, with room for 32 blocks, under MPS; slices if `slice` is called.
  RecordedScenario();

  // A client that goes at the program's own pace, through all jobs once. The recording's jobs are cut by the
  // rule `sync` where it has none.
  Client& client(const std::string& name, recording::Recording recording);
  // length, switch, stop, resume, renewal, linger
  void slice(std::int64_t length, std::int64_t context_switch, std::int64_t stop = 0, std::int64_t resume = 0,
             std::int64_t renewal = 0, std::int64_t linger = 0);
  // The client's program in another way.
  Recorded& recorded(std::size_t client) { return *recorded_[client]; }
  void paced(std::size_t client, const Repeat& repeat);

  // Throws std::logic_error where a law of time is broken (tests/time_laws.hpp).
  void play(const std::string& policy = "passthrough");
  void play(Policy& policy);
  // By client: "0-164 1000-1210", when its jobs were released and finished.
  std::vector<std::string> jobs;
  // "30 A started", of stays, grants and jobs, and "30 A deny"; in the order of time.
  std::vector<std::string> lines;
  // Of these the changes of access.
  std::vector<std::string> accesses;
  // "30 B awaits GPU", "60 B on host", which are not among the lines.
  std::vector<std::string> off_gpu;
  std::vector<JobResult> results;
  std::vector<Record> holds;  // what clients' memory takes from then on

  Device device;
  Granting granting;
  Placing placing = Placing::fixed;
  std::string mechanism = "ideal";
  std::vector<Client> clients;
  Time horizon = Time::max();
  bool moves_memory = false;

 private:
  TemporaryFolder folder_;
  std::vector<std::shared_ptr<Recorded>> recorded_;
};

// A job of one kernel, which is submitted at 0, runs from 10 for `length`, and is waited for until 2 later.
recording::Recording one_kernel(std::int64_t length);

// A launch of so many blocks of 32 threads, in a form.
LeavingKernel in_form(std::int64_t blocks, std::int64_t time, const std::string& form);

}  // namespace gangway::testing
