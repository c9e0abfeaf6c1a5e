// What a launch grants under a policy, and how long a job may hold it unused.
#pragma once

#include <optional>

#include "models/input/field.hpp"
#include "models/policy.hpp"
#include "models/take_forms.hpp"

namespace gangway {

struct Granting {
  GrantOf of = GrantOf::kernel;
  // For whole jobs: a grant ends after nothing of the job has been on the device for this long.
  Duration idle{50'000};
  // For recorded programs with whole-job grants: limit on submissions on the device; 0: none.
  std::int64_t in_flight = 0;
  // Likewise: a revoked grant ends when its gate is closed, without waiting for work that passed it.
  bool overlap = false;
  // For programs: which kernels leave early, or, with grants of kernels, are launched in slices. None given:
  // recorded programs as their recordings say, others `none`.
  std::optional<TakeForms> forms = {};
};

// `kernel`, `job`, {forms: worth}, or {of: job, idle: 50 us, in_flight: 8, overlap: true, forms: worth};
// `idle` from 0 to 100 s. Throws InputError.
Granting read_granting(const Field& field);

}  // namespace gangway
