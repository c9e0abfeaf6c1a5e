// What ends a program before its work is done: Ctrl-C, termination, and a policy that does not come back.
#pragma once

#include <atomic>

namespace gangway {

// From now on SIGINT and SIGTERM set the flag, which long work looks at; a second one ends the program at
// once, with exit code 130. A policy that does not return from a call ends it, too: with exit code 1 when its
// time is over, with 130 soon after a signal. Results that are finished are files by then, and stay.
const std::atomic<bool>& catch_interrupts();

}  // namespace gangway
