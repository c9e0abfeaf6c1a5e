// Which of the driver's functions functions.def does not list, though a program asks for them.
#pragma once

namespace gangway::intercept {

// Whether `answer`, with which the driver answers a request for `symbol`, bypasses the gate though it may
// submit: `symbol` is in no class of functions.def, or `answer` is a version that the table lacks of a
// function that is not PASSED. False for the functions of the graphics APIs, which cuda.h does not declare.
bool bypasses_gate(const char* symbol, const void* answer);

// Whether this process has not asked about `answer` before. False from the 257th on.
bool seen_first(const void* answer);

}  // namespace gangway::intercept
