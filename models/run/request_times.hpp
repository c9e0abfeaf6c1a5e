// The arrival times of a client's requests in one run.
#pragma once

#include "models/random.hpp"
#include "models/workload.hpp"
#include "models/world.hpp"

namespace gangway {

// Uses constant memory. Draws depend on the seed and the client only.
class RequestTimes {
 public:
  // `arrivals` must outlive this object. The first gap starts at `begin`.
  RequestTimes(const RequestArrivals& arrivals, const RunSeed& seed, ClientId client, Time begin)
      : arrivals_(&arrivals),
        begin_(begin),
        random_(seed.seed, "request", {seed.replication, seed.permutation, client.index}) {}

  // Never decreases. For listed times, do not call more often than there are.
  Time next();

 private:
  const RequestArrivals* arrivals_;
  Time begin_;
  Stream random_;
  double gaps_ = 0;  // sum of drawn gaps, in units of the mean gap
  std::size_t listed_ = 0;
};

}  // namespace gangway
