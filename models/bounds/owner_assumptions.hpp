// Checks, from a trace, that a run under an ownership policy met the assumptions of T7 and T8 with costs.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/assumption.hpp"
#include "models/trace.hpp"

namespace gangway {

// Limits of one client on the run's clock: the set's own times and its costs, not yet combined.
struct OwnerLimits {
  std::string name;
  std::int32_t priority = 0;
  Duration lateness;  // of a release, and of a quantum's end
  Duration launch;    // from the order until the first block is seen to run
  Duration run;       // of a job over all launches, up to the order to evict, or the end for the last
  Duration resume;    // by which that may grow per relaunch
  Duration eviction;  // from the order, or the first block if later, until the remaining work is known
  Duration ending;    // from the last block's end until that is known, if it was not ordered off before
};

// Receives runs one after the other; each begins with restart(). Keeps only released, unfinished jobs.
class OwnerAssumptions : public TraceSink {
 public:
  // By client. `quantum`: of round robin; none: fixed priorities. `nominal`: release times for the analysis
  // by client and job, if they differ from the trace; must outlive this object.
  OwnerAssumptions(std::vector<OwnerLimits> clients, std::optional<Duration> quantum);

  void restart(const std::vector<std::vector<Duration>>& nominal, const std::vector<Duration>& jitter);
  void record(const Record& record) override;
  const Assumptions& seen() const { return seen_; }

 private:
  struct Job {
    std::optional<Time> eligible;
    Time free;  // when its predecessor finished
    Duration run;
    std::int64_t launches = 0;
    // Round robin, while it waits: since when, who has had a turn, and what second turns took.
    Time since;
    std::vector<bool> turned;
    Duration second_turns;
  };
  struct Owner {
    LaunchId launch;
    std::uint32_t client = 0;
    Time ordered;
    std::optional<Time> started, evict_ordered, gone;
    std::optional<Time> wanted;  // a job that may displace it has waited since
    bool out_of_turn = false;    // fixed priorities: such a job had waited before it was launched
  };

  bool displaces(std::uint32_t client) const;
  void eligible(const Record& record);
  void ordered(const Record& record);
  void left(const Record& record);
  void check_turn(Time end);
  void wait_for_turn(Job& job, Time since);
  void count_turn(Time end);
  void note(const char* name, std::uint32_t client, Duration measured, Duration allowed) {
    seen_.note(name, clients_[client].name, measured.ns, allowed.ns);
  }

  std::vector<OwnerLimits> clients_;
  std::optional<Duration> quantum_;
  const std::vector<std::vector<Duration>>* nominal_ = nullptr;
  std::vector<Duration> jitter_;  // by client, of the task itself
  std::vector<Job> jobs_;         // by client: the unfinished one
  std::optional<Owner> owner_;
  std::optional<Time> idle_;  // since when nobody owns the GPU though a job waits
  Time free_;                 // since when nobody owns it
  Assumptions seen_;
};

}  // namespace gangway
