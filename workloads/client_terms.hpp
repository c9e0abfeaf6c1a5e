// A client's requests to the scheduler: latency objective, share, time to leave, and freely named numbers.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// Reads the keys `slo`, `weight`, `leave` and `attributes`; `arrive` must have been read. Throws InputError.
void read_terms(Mapping& client, Client& into);

}  // namespace gangway
