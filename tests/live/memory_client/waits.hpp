// Waits for the test.
#pragma once

#include <unistd.h>

#include <string>

namespace gangway::memory_client {

inline void wait_for_file(const std::string& name) {
  while (access(name.c_str(), F_OK) != 0) usleep(1000);
}

}  // namespace gangway::memory_client
