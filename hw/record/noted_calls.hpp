// Logs the program's calls from CUPTI's callbacks to the spool.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace gangway::spool {

// For cuptiSubscribe(). Called at the beginning and end of each requested function.
void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void* data);

// Requests callbacks for functions of an API with numbers below `end`, but only for those that a recording
// distinguishes: logging every call would dominate the cost.
void note_calls_of(CUpti_CallbackDomain domain, std::uint32_t end);

// Moves the calls since then to the spool. The recorder's lock must be held.
void take_calls();

}  // namespace gangway::spool
