// A self-submitting client: its host thread and current jobs. Definition: sim/channels/README.md.
#pragma once

#include <deque>
#include <optional>

#include "models/copy_direction.hpp"
#include "models/run/client_run.hpp"

namespace gangway {

// A client's jobs that have begun and are not over.
class OpenJobs {
 public:
  struct Job {
    std::uint32_t number = 0;
    std::uint32_t outstanding = 0;  // number of requests
    bool submitted = false;         // all requests are
    bool over() const { return submitted && outstanding == 0; }
  };

  void clear() { jobs_.clear(); }
  bool empty() const { return jobs_.empty(); }
  void begin(std::uint32_t number) { jobs_.push_back({number, 0, false}); }
  Job& latest() { return jobs_.back(); }
  Job& of(std::uint32_t number) { return jobs_[number - jobs_.front().number]; }
  // Removes finished jobs at the front.
  void trim() {
    while (!jobs_.empty() && jobs_.front().over()) jobs_.pop_front();
  }
  const std::deque<Job>& all() const { return jobs_; }

 private:
  std::deque<Job> jobs_;  // consecutive numbers
};

struct Host {
  // submitting: a submission traps or waits; settling: the job's requests must end before its copy out;
  // copying: a copy is on the device.
  enum class Stage { idle, computing, submitting, working, blocked, settling, copying };

  explicit Host(ClientRun client) : run(std::move(client)) {}

  ClientRun run;
  OpenJobs jobs;
  Stage stage = Stage::idle;
  std::optional<CopyDirection> copy;  // that the host submits or waits for; else kernels
  LaunchId awaited;                   // while blocked

  bool watched = false;  // the previous submission trapped

  void reset() {
    const ClientRun keep = run;
    *this = Host(keep);
  }
};

}  // namespace gangway
