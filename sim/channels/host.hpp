// A client that submits by itself: its host thread, its jobs under way, and how it may submit.
// sim/channels/README.md is the definition.
#pragma once

#include <deque>
#include <optional>

#include "models/copy_direction.hpp"
#include "models/policy.hpp"
#include "models/run/client_run.hpp"

namespace gangway {

// The jobs of a client that are begun and not over.
class OpenJobs {
 public:
  struct Job {
    std::uint32_t number = 0;
    std::uint32_t outstanding = 0;  // requests
    bool submitted = false;         // all of them
    bool over() const { return submitted && outstanding == 0; }
  };

  void clear() { jobs_.clear(); }
  bool empty() const { return jobs_.empty(); }
  void begin(std::uint32_t number) { jobs_.push_back({number, 0, false}); }
  Job& latest() { return jobs_.back(); }
  Job& of(std::uint32_t number) { return jobs_[number - jobs_.front().number]; }
  // Forgets those that are over at the front.
  void trim() {
    while (!jobs_.empty() && jobs_.front().over()) jobs_.pop_front();
  }
  const std::deque<Job>& all() const { return jobs_; }

 private:
  std::deque<Job> jobs_;  // numbers without a gap
};

// A client whose requests are counted for a while.
struct Sampling {
  Time since, until;
  std::int64_t wanted = 0, joined = 0;  // requests
  Duration busy, trapped;
  std::optional<Duration> lasted;  // it is over, but that has not been seen

  bool admits(Time now) const { return now < until && joined < wanted; }
};

struct Host {
  // settling: the job's requests have to end before its copy out; copying: a copy is on the device.
  enum class Stage { idle, computing, trapped, waiting, working, blocked, settling, copying };

  explicit Host(ClientRun client) : run(std::move(client)) {}

  ClientRun run;
  OpenJobs jobs;
  Stage stage = Stage::idle;
  std::optional<CopyDirection> copy;  // that the host submits, or waits for; else kernels
  LaunchId awaited;                   // while blocked

  bool opening = false, open = false, gone = false;
  std::int64_t channels = 0;            // open
  std::optional<std::int64_t> granted;  // at most, if the policy has said

  Access access = Access::direct;
  RequestId held;        // a submission waits for admission
  bool trapped = false;  // the submission under way
  bool watched = false;  // the one before it trapped
  Time trap_began;

  struct Drain {
    Time since;
    bool seen_soon = false;
  };
  std::optional<Drain> drain;
  std::optional<Sampling> sampling;
  std::uint64_t overdue_event = 0;
  LaunchId overdue_launch;
  Time overdue_since;
  bool used = false;  // since the policy was last told
  Duration usage;

  void reset() {
    const ClientRun keep = run;
    *this = Host(keep);
  }
};

}  // namespace gangway
