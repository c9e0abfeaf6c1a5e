// Version and build of this program.
#pragma once

#include <string>

namespace gangway {

std::string build_version();   // 0.1.0
std::string build_commit();    // of the source, with -dirty if modified; empty outside a checkout
std::string build_compiler();  // GNU 12.2.0
std::string host_cpu();

}  // namespace gangway
