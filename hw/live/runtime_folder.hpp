// A user's folder for what the daemon and programs share.
#pragma once

#include <string>

namespace gangway::live {

// $XDG_RUNTIME_DIR/gangway, else /tmp/gangway-UID, created if missing. RunError if it belongs to another
// user.
std::string own_folder();
// Its path; and what is wrong with it, empty if it is usable or can be created. They create nothing.
std::string own_folder_path();
std::string own_folder_problem();
// The default socket of a GPU's daemon. Creates nothing.
std::string default_socket(unsigned gpu = 0);
// That of GPU 0; as above, -N for GPU N. packaging/gangway.service
inline constexpr const char* kServiceSocket = "/run/gangway/socket";
// The socket by which to find a GPU's daemon: the default one; where nobody listens, that of the machine's
// service, if there is one.
std::string socket_to_join(unsigned gpu, const std::string& service = kServiceSocket);

}  // namespace gangway::live
