// The calls that the program makes, from CUPTI's callbacks to the spool.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace gangway::spool {

// For cuptiSubscribe(). Comes at the beginning and at the end of each function that was asked for.
void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void* data);

// Asks for the functions of an API whose numbers are below `end`. Only those that a recording tells apart: to
// note every call would cost more than all the rest.
void note_calls_of(CUpti_CallbackDomain domain, std::uint32_t end);

// Puts what was called since into the spool. The recorder's lock is held.
void take_calls();

}  // namespace gangway::spool
