// Faults that a rewriter might make, planted in what it wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::testing::ptx {

struct PlantedFault {
  std::string name;
  // Changes the rewritten text; `original` bytes of it are the module as it was. False where the text has
  // nothing that could be changed so.
  std::function<bool(std::string& text, std::size_t original)> plant;
};

const std::vector<PlantedFault>& planted_faults();

}  // namespace gangway::testing::ptx
