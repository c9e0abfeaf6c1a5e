#include "models/policy.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace gangway {

void refuse_index(const char* what, std::uint64_t index, std::uint64_t count) {
  throw std::out_of_range(fmt::format("{} {}, of {}", what, index, count));
}

std::optional<double> JobFacts::attribute(const std::string& name) const {
  if (attributes != nullptr)
    for (const Attribute& attribute : *attributes)
      if (attribute.name == name) return attribute.value;
  return std::nullopt;
}

void View::refuse_generation(ClientId asked, ClientId there) {
  throw std::out_of_range(fmt::format("client {} of generation {}, now of generation {}",
                                      std::uint32_t{asked.index}, std::uint32_t{asked.generation},
                                      std::uint32_t{there.generation}));
}

void View::refuse_memory() { throw std::logic_error("this world does not move memory"); }

std::string Capabilities::text() const {
  constexpr std::array<std::pair<Capability, const char*>, 9> kNames{{{Capability::evict, "evict"},
                                                                      {Capability::ranges, "ranges"},
                                                                      {Capability::memory, "memory"},
                                                                      {Capability::access, "access"},
                                                                      {Capability::sampling, "sampling"},
                                                                      {Capability::native, "native"},
                                                                      {Capability::mixed, "mixed"},
                                                                      {Capability::intercept, "intercept"}}};
  std::string out;
  for (const auto& [capability, name] : kNames)
    if (has(capability)) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

}  // namespace gangway
