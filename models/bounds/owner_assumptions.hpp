// Whether a run under a policy of owners was what T7 and T8 speak of when costs are added: read off its
// trace.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/assumption.hpp"
#include "models/trace.hpp"

namespace gangway {

// Of one client, on the run's clock: the set's own times with its costs, before they are put together.
struct OwnerLimits {
  std::string name;
  std::int32_t priority = 0;
  Duration lateness;  // of a release, and of a quantum's end
  Duration launch;    // from the order until the first block is seen to run
  Duration run;       // of a job in all its launches, up to orders to evict, the end of the last included
  Duration resume;    // by which that may be longer for each relaunch
  Duration eviction;  // from the order, or the first block if that is later, until what is left is known
};

// Told the records of one run after the other; each begins with restart(). What it keeps is of the released
// jobs that are not over.
class OwnerAssumptions : public TraceSink {
 public:
  // By client. `quantum`: of round robin; none: fixed priorities. `nominal`: by client and job, when it was
  // released as far as the analysis is concerned, where that is not what the trace says; it must outlive
  // this.
  OwnerAssumptions(std::vector<OwnerLimits> clients, std::optional<Duration> quantum);

  void restart(const std::vector<std::vector<Duration>>& nominal, const std::vector<Duration>& jitter);
  void record(const Record& record) override;
  const Assumptions& seen() const { return seen_; }

 private:
  struct Job {
    std::optional<Time> eligible;
    Time free;  // its predecessor was finished
    Duration run;
    std::int64_t launches = 0;
  };
  struct Owner {
    LaunchId launch;
    std::uint32_t client = 0;
    Time ordered;
    std::optional<Time> started, evict_ordered, gone;
    std::optional<Time> wanted;  // somebody who may displace it waits since then
  };

  bool displaces(std::uint32_t client) const;
  void eligible(const Record& record);
  void ordered(const Record& record);
  void left(const Record& record);
  void check_turn(Time end);
  void note(const char* name, std::uint32_t client, Duration measured, Duration allowed) {
    seen_.note(name, clients_[client].name, measured.ns, allowed.ns);
  }

  std::vector<OwnerLimits> clients_;
  std::optional<Duration> quantum_;
  const std::vector<std::vector<Duration>>* nominal_ = nullptr;
  std::vector<Duration> jitter_;  // by client: of the task itself
  std::vector<Job> jobs_;         // by client: the one that is not over
  std::optional<Owner> owner_;
  std::optional<Time> idle_;  // nobody owns the GPU though somebody waits, since then
  Time free_;                 // nobody owns it since then
  Assumptions seen_;
};

}  // namespace gangway
