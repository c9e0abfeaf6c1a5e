// A process as others may lock, checkpoint and restore it: their calls reach it by a socket that its thread
// listens to from cuInit on.
#pragma once

namespace gangway::standin {

// Around every driver call of the process: it waits while the process is locked.
void call_begins();
void call_ends();

void listen_to_checkpoints();  // in each process once

}  // namespace gangway::standin
