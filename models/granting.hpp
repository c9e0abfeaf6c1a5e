// What a launch hands out under a policy, and how long a job may hold it without using it.
#pragma once

#include "models/input/field.hpp"
#include "models/policy.hpp"

namespace gangway {

struct Granting {
  GrantOf of = GrantOf::kernel;
  // Of whole jobs: a grant ends when nothing of the job has been on the device for so long.
  Duration idle{50'000};
  // Of recorded programs under grants of whole jobs: submissions on the device at once; 0: any number.
  std::int64_t in_flight = 0;
  // Likewise: a revoked grant is over when its gate is closed, not when all that passed it is over, too.
  bool overlap = false;
};

// `kernel`, `job`, or {of: job, idle: 50 us, in_flight: 8, overlap: true}; `idle` from 0 to 100 s. Throws
// InputError.
Granting read_granting(const Field& field);

}  // namespace gangway
