// When a live client's jobs begin in a run, by its workload.
#pragma once

#include <optional>
#include <vector>

#include "hw/live/client.hpp"
#include "models/run/client_run.hpp"

namespace gangway::live {

class LiveReleases {
 public:
  // The setup must outlive this object. `first`: the first release without jitter.
  LiveReleases(const WorldSetup& setup, ClientId id, const RunSeed& seed, Time first);

  // The client is on hold; `origin` is time 0 (CLOCK_MONOTONIC, ns).
  void begin(LiveClient& client, std::int64_t origin);
  // Announces the releases up to `until` as far as there is room, and ends them when the client leaves.
  void look(LiveClient& client, Time now, Time until);

  bool timed() const { return timed_; }
  std::optional<Time> first() const { return timed_ ? next_ : first_; }  // before begin(); none: no release
  // All timed releases up to `end`, including those never announced for lack of room.
  std::vector<Time> all(Time end);
  // Whether no job follows once `over` jobs are over.
  bool through(std::uint64_t over) const;

 private:
  ClientRun run_;
  Time first_;
  bool timed_;
  bool left_ = false;
  std::int64_t origin_ = 0;
  std::optional<Time> next_;  // not announced yet
  std::vector<Time> told_;
  std::optional<std::uint64_t> jobs_;  // none: endless
};

}  // namespace gangway::live
