// What a PTX text says of itself, without understanding its instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

struct PtxEntry {
  std::string name;
  std::uint32_t line = 0;  // from 1
};

struct PtxFacts {
  std::string version;  // of the language: 9.0
  Architecture target;
  std::vector<PtxEntry> entries;  // kernels, in their order
};

// None where it does not begin, behind blanks and comments, with .version and .target.
std::optional<PtxFacts> read_ptx(std::string_view text);

}  // namespace gangway::transform
