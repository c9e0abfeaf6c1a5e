// What clients' host threads do beside launching kernels: each goes on with other work after a launch, and
// waits for the kernel when that is done (EffiSha, 6.3, asynchronous checking).
#pragma once

#include <algorithm>
#include <vector>

#include "models/identity.hpp"
#include "models/quantity.hpp"

namespace gangway {

class HostThreads {
 public:
  void reset(std::size_t clients) { threads_.assign(clients, {}); }

  // A launch of the job's kernel is ordered. Returns how long the host thread keeps it waiting, at most
  // `most`: it comes to the first launch when its program says so, but later ones can find it busy. `work`:
  // what it does from the first on.
  Duration launch(Time now, JobId job, std::uint32_t kernel, Duration work, Duration most) {
    Thread& thread = threads_[job.client.index];
    if (thread.launched && thread.job == job && thread.kernel == kernel)
      return std::clamp(thread.free - now, Duration{}, most);
    thread = {job, kernel, true, now + work};
    return {};
  }

  // When its work of now is done; in the past where it has none.
  Time free(ClientId client) const { return threads_[client.index].free; }

 private:
  struct Thread {
    JobId job;  // of the kernel it launched last
    std::uint32_t kernel = 0;
    bool launched = false;
    Time free;
  };
  std::vector<Thread> threads_;  // by client
};

}  // namespace gangway
