// Cycles of a directed graph.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace gangway::transform {

// The strongly connected sets of those nodes that are `among`, each sorted. A single node is one only if it
// leads to itself.
std::vector<std::vector<std::uint32_t>> components(
    const std::vector<bool>& among,
    const std::function<const std::vector<std::uint32_t>&(std::uint32_t)>& next);

}  // namespace gangway::transform
