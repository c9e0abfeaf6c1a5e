// Where a user's daemon and programs keep what they share.
#pragma once

#include <string>

namespace gangway::live {

// $XDG_RUNTIME_DIR/gangway, else /tmp/gangway-UID; made where it is missing. RunError where it is somebody
// else's.
std::string own_folder();
// Where the daemon of a GPU listens unless told otherwise. Makes nothing.
std::string default_socket(unsigned gpu = 0);

}  // namespace gangway::live
