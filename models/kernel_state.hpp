// The states of a kernel as EffiSha's kernel stubs have them (6.1, Fig. 6; the paper says seven and names
// these six).
#pragma once

#include <optional>

#include "models/trace.hpp"

namespace gangway {

enum class KernelState {
  prep,     // its job has come, its launch has not been reached
  ready,    // waits to be launched
  torun,    // to be launched, by order of the scheduler
  running,  // its first block has begun
  toevict,  // to leave, by order of the scheduler
  done,
};

const char* name_of(KernelState state);

// The state of the job's current kernel after the record, which is of a client that a policy manages; none
// where the record leaves it as it is.
std::optional<KernelState> state_after(const Record& record, KernelState before);

}  // namespace gangway
