// When a client's requests arrive in one run, one after the other.
#pragma once

#include "models/random.hpp"
#include "models/workload.hpp"
#include "models/world.hpp"

namespace gangway {

// Needs the same memory for any number of requests. What is drawn depends on the seed and the client alone.
class RequestTimes {
 public:
  // `arrivals` must outlive this object. The first gap begins at `begin`.
  RequestTimes(const RequestArrivals& arrivals, const RunSeed& seed, ClientId client, Time begin)
      : arrivals_(&arrivals),
        begin_(begin),
        random_(seed.seed, "request", {seed.replication, seed.permutation, client.index}) {}

  // Never earlier than the one before. Of listed times, no more than there are.
  Time next();

 private:
  const RequestArrivals* arrivals_;
  Time begin_;
  Stream random_;
  double gaps_ = 0;  // sum of those drawn, in units of the mean gap
  std::size_t listed_ = 0;
};

}  // namespace gangway
