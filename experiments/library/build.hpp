// Which Gangway this is, and on what it runs.
#pragma once

#include <string>

namespace gangway {

std::string build_version();   // 0.1.0
std::string build_commit();    // of the source, with -dirty when it was changed; empty outside a checkout
std::string build_compiler();  // GNU 12.2.0
std::string host_cpu();

}  // namespace gangway
