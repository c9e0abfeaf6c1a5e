// Which Gangway this is, and on what it runs.
#pragma once

#include <string>

namespace gangway {

std::string build_version();   // 0.1.0
std::string build_commit();    // of the source, with -dirty when it was changed; empty outside a checkout
std::string build_compiler();  // GNU 12.2.0
// The SHA-256 of this program's executable: results of two builds are not mixed, whatever their sources were
// called. Worked out once. Throws RunError where the executable cannot be read.
const std::string& program_hash();
std::string host_cpu();

}  // namespace gangway
