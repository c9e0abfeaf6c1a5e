#include "models/policy.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace gangway {

void refuse_index(const char* what, std::uint64_t index, std::uint64_t count) {
  throw std::out_of_range(fmt::format("{} {}, of {}", what, index, count));
}

void View::refuse_memory() { throw std::logic_error("memory, which this world does not move"); }

std::string Capabilities::text() const {
  constexpr std::array<std::pair<Capability, const char*>, 8> kNames{{{Capability::evict, "evict"},
                                                                      {Capability::ranges, "ranges"},
                                                                      {Capability::memory, "memory"},
                                                                      {Capability::access, "access"},
                                                                      {Capability::sampling, "sampling"},
                                                                      {Capability::native, "native"},
                                                                      {Capability::mixed, "mixed"}}};
  std::string out;
  for (const auto& [capability, name] : kNames)
    if (has(capability)) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

}  // namespace gangway
