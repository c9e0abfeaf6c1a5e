// The header and entries of a PTX text; instructions are not parsed.
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
  std::string version;  // of the PTX ISA: 9.0
  Architecture target;
  std::vector<PtxEntry> entries;  // kernels, in text order
};

// None unless the text starts, after blanks and comments, with .version and .target.
std::optional<PtxFacts> read_ptx(std::string_view text);

}  // namespace gangway::transform
