// Small workloads written in the test, played in the simulator, and their traces as lines to compare with a
// hand-worked schedule.
#pragma once

#include <string>
#include <vector>

#include "models/metrics/run_meter.hpp"
#include "models/world.hpp"

namespace gangway::testing {

// A device for hand-worked schedules, in ns: launch 10, evict 2, notice 1, pending work 4; copies take 5 +
// one ns per byte.
Device small_device();

// A client with one kernel of `time` ns and as many block-tasks, so that progress in ns and in block-tasks
// are the same number. A drain takes 6 ns after the flag is seen, 3 of them useful.
Client client(const std::string& name, std::int64_t arrive, std::int64_t time);

struct Scenario {
  std::vector<Client> clients;
  Jitter jitter = {};
  Device device = small_device();
  std::string mechanism = "flag-copy";
  bool standalone_transformed = true;
  Time horizon = Time::max();
  Granting granting = {};
};

struct Played {
  std::vector<std::string> lines;  // "58 A gone 45"
  std::vector<Record> records;
  std::vector<JobResult> jobs;
  RunTotals totals;
  std::vector<std::int64_t> evictions_from;  // by GPU
};

// `policy` and its parameters as a file would give them: "rr", "{name: rr, params: {quantum: 30 ns}}".
ChosenPolicy policy_from(const std::string& yaml);
std::unique_ptr<Mechanism> mechanism_from(const std::string& yaml);  // likewise
// Every run that is played is held to the laws of time (tests/time_laws.hpp).
Played play(const Scenario& scenario, const std::string& policy, const RunSeed& seed = {});
Played play(const Scenario& scenario, Policy& policy, const RunSeed& seed = {});

// Only launches, starts, evictions, ends and reports, as "TIME CLIENT WHAT [NUMBER]".
using Lines = std::vector<std::string>;

// Policies take no quantum below 1 us, so round robin and its kin are worked out in units of 100 ns: the same
// device and clients in these units, and the lines back in them (a time that is no multiple shows).
Scenario hundreds(std::vector<Client> clients);
Lines in_hundreds(const Played& played);

}  // namespace gangway::testing
