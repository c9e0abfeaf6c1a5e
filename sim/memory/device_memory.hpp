// Which clients' state is in device memory, and what a move of it copies (Share-a-GPU, II-E), under policies
// that need `memory`. sim/memory/README.md is the exact definition. The world keeps the events and tells when
// copies are over; this tells the policy's view.
#pragma once

#include <string>
#include <vector>

#include "models/run/job_book.hpp"

namespace gangway {

class DeviceMemory {
 public:
  // Both must outlive this object.
  DeviceMemory(const WorldSetup& setup, JobBook& book);
  // A run begins: native clients hold their memory all the time, nobody else has any.
  void reset();

  // Why the policy cannot order this, or empty.
  std::string refusal(JobId job, Direction direction) const;
  std::string launch_refusal(JobId job) const;

  // The order is given: a restore takes the room. Returns how much is to be copied.
  Bytes begin(JobId job, Direction direction);
  // The policy is told that it is over: the state is resident, or the room is free.
  void end(JobId job, Direction direction);
  // A launch of the job is ordered: its dirty variables differ from the host's from now on.
  void launched(JobId job);
  // No launch will follow: outputs are on their way, then the room is free.
  void leaving(JobId job);
  // Returns whether the job had room.
  bool free(JobId job);

  Bytes held(ClientId client) const;

 private:
  struct State {
    StateSizes sizes;
    Bytes footprint;
    bool native = false;
    bool launched = false;  // in this job
    bool changed = false;   // launched since it was last restored
  };
  void give(ClientId client);

  const WorldSetup* setup_;
  JobBook* book_;
  Bytes room_;
  std::vector<State> states_;  // by client
};

}  // namespace gangway
