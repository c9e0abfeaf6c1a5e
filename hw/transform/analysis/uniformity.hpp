// Which branches the threads of a block take together.
#pragma once

#include <functional>
#include <optional>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// The first statement among those that `matters` names that some threads of a block may pass by while others
// do not, whatever the data. Only what follows from parameters, constants and the block's index is taken to
// be the same for all threads.
std::optional<std::uint32_t> passed_by_some(const Flow& flow,
                                            const std::function<bool(const Instruction&)>& matters);

}  // namespace gangway::transform
