// Kernel states of EffiSha's stubs (6.1, Fig. 6; the paper says seven and names these six).
#pragma once

#include <optional>

#include "models/trace.hpp"

namespace gangway {

enum class KernelState {
  prep,     // its job has arrived, its launch is not reached
  ready,    // waits to be launched
  torun,    // the scheduler has ordered its launch
  running,  // its first block has begun
  toevict,  // the scheduler has ordered its eviction
  done,
};

const char* name_of(KernelState state);

// The state of the job's current kernel after the record, which concerns a client managed by a policy. None
// if the record does not change it.
std::optional<KernelState> state_after(const Record& record, KernelState before);

}  // namespace gangway
