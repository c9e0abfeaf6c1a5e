// Ctrl-C and termination as a flag that long work looks at.
#pragma once

#include <atomic>

namespace gangway {

// From now on SIGINT and SIGTERM set the flag; a second one ends the program at once.
const std::atomic<bool>& catch_interrupts();

}  // namespace gangway
