// Small sizes of every kernel, for tests: with a last block-task that is not full, where that can be.
#pragma once

#include <cstdlib>
#include <map>
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

// By name. A new kernel gets a line here; without one its tests fail.
inline std::string small_size(const std::string& name) {
  static const std::map<std::string, std::string> sizes{
      {"HST256", "{elements: 300001, per_thread: 32}"}, {"MM", "{n: 200, depth: 70}"},
      {"RED", "{elements: 500003, per_thread: 16}"},    {"VA", "{elements: 200003, per_thread: 8}"},
      {"throttle", "{block_tasks: 150, time: 10 us}"},
  };
  const auto found = sizes.find(name);
  return found == sizes.end() ? std::string() : found->second;
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
