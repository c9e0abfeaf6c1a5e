// What nvcc made, in every form that the readers know.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gangway::testing {

inline const std::vector<std::string> kFixtures{"accelerated.fatbin", "cuda12.cubin", "intermediate.fatbin",
                                                "none.fatbin",        "program",      "relocatable.fatbin",
                                                "size.fatbin",        "speed.fatbin", "targets.fatbin",
                                                "two_kernels.ptx",    "mixed.fatbin"};

inline std::string fixture_path(const std::string& name) {
  return std::string(GANGWAY_SOURCE_DIR) + "/tests/hw/transform/images/fixtures/" + name;
}

inline std::string fixture(const std::string& name) {
  std::ostringstream bytes;
  bytes << std::ifstream(fixture_path(name), std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

}  // namespace gangway::testing
