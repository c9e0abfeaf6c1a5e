// What a client asks of whoever schedules it: an objective for its latency, a share, how long it stays, and
// numbers under names of its own choice.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// Keys `slo`, `weight`, `leave` and `attributes` of a client; its `arrive` has been read. Throws InputError.
void read_terms(Mapping& client, Client& into);

}  // namespace gangway
