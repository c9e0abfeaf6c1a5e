// Branches that all threads of a block take together.
#pragma once

#include <functional>
#include <optional>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// The first statement selected by `matters` that some threads of a block may skip while others execute it.
// Only values derived from parameters, constants and the block index count as uniform across threads.
std::optional<std::uint32_t> passed_by_some(const Flow& flow,
                                            const std::function<bool(const Instruction&)>& matters);

}  // namespace gangway::transform
