// Measured and fitted times as files give them.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/quantity.hpp"

namespace gangway {

// The nearest whole ns; 0 for negative values, which small differences can be.
inline Duration rounded(double ns) { return {static_cast<std::int64_t>(std::llround(std::max(0.0, ns)))}; }

}  // namespace gangway
