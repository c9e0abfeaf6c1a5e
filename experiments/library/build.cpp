#include "experiments/library/build.hpp"

#include <fstream>

#include "gangway_build_facts.hpp"
#include "gangway_commit.hpp"

namespace gangway {

std::string build_version() { return GANGWAY_VERSION; }
std::string build_commit() { return GANGWAY_COMMIT; }
std::string build_compiler() { return GANGWAY_COMPILER; }

std::string host_cpu() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace gangway
