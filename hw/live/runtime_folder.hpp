// Where a user's daemon and programs keep what they share.
#pragma once

#include <string>

namespace gangway::live {

// $XDG_RUNTIME_DIR/gangway, else /tmp/gangway-UID; made where it is missing. RunError where it is somebody
// else's.
std::string own_folder();
// Where that is, and what is wrong with it: empty where it can be used, or made. Makes nothing.
std::string own_folder_path();
std::string own_folder_problem();
// Where the daemon of a GPU listens unless told otherwise. Makes nothing.
std::string default_socket(unsigned gpu = 0);

}  // namespace gangway::live
