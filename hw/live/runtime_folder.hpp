// Where a user's daemon and programs keep what they share.
#pragma once

#include <string>

namespace gangway::live {

// $XDG_RUNTIME_DIR/gangway, else /tmp/gangway-UID; made where it is missing. RunError where it is somebody
// else's.
std::string own_folder();
// Where the daemon listens unless told otherwise. Makes nothing.
std::string default_socket();

}  // namespace gangway::live
