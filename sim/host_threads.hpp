// Clients' host threads: after a launch a thread does other work, then waits for the kernel (EffiSha, 6.3,
// asynchronous checking).
#pragma once

#include <algorithm>
#include <vector>

#include "models/identity.hpp"
#include "models/quantity.hpp"

namespace gangway {

class HostThreads {
 public:
  void reset(std::size_t clients) { threads_.assign(clients, {}); }

  // A launch of the job's kernel is ordered. Returns how long the host thread delays it, at most `most`: the
  // first launch comes when the program says so, but later ones may find the thread busy. `work`: its work
  // from the first launch on.
  Duration launch(Time now, JobId job, std::uint32_t kernel, Duration work, Duration most) {
    Thread& thread = threads_[job.client.index];
    if (thread.launched && thread.job == job && thread.kernel == kernel)
      return std::clamp(thread.free - now, Duration{}, most);
    thread = {job, kernel, true, now + work};
    return {};
  }

  // When its current work ends; in the past if it has none.
  Time free(ClientId client) const { return threads_[client.index].free; }

 private:
  struct Thread {
    JobId job;  // of the last launched kernel
    std::uint32_t kernel = 0;
    bool launched = false;
    Time free;
  };
  std::vector<Thread> threads_;  // by client
};

}  // namespace gangway
