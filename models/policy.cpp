#include "models/policy.hpp"

#include <array>

namespace gangway {

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
