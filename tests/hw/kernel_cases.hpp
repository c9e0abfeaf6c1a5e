// Kernels as tests make them.
#pragma once

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "models/kernel_code.hpp"

namespace gangway::testing {

inline std::shared_ptr<const KernelCode> kernel_from(const std::string& name, const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test");
  const Node kernel = parse_yaml(name, "test");
  const KernelEntry& entry = Kernels::get(Field(kernel, "code"));
  return entry.make(ParameterValues(entry.parameters, Field(node, "params")));
}

inline const std::string& small_size(const std::string& name) {
  return Kernels::named(name, "test", "kernel").small_size;
}

// Inputs differ from check to check and from run to run; a failure names the seed, and GANGWAY_INPUT_SEED
// brings it back for a test that runs alone.
inline std::uint64_t fresh_seed() {
  static const std::uint64_t first = [] {
    const char* given = std::getenv("GANGWAY_INPUT_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  }();
  static std::uint64_t checks = 0;
  return first + checks++;
}

}  // namespace gangway::testing
