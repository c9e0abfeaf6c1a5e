// Ends of a program before its work is done: Ctrl-C, termination, and a policy that does not return.
#pragma once

#include <atomic>

namespace gangway {

// Installs handlers by which SIGINT and SIGTERM set the flag, polled by long work; a second one ends the
// program at once with exit code 130. A policy that does not return ends it, too: with exit code 1 after its
// time limit, with 130 soon after a signal. Finished results are files by then.
const std::atomic<bool>& catch_interrupts();

}  // namespace gangway
