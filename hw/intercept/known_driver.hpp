// The newest driver whose cuda.h functions are all in functions.def.
#pragma once

namespace gangway::intercept {

// In CUDA's version format. Functions added by newer drivers bypass the gate.
inline constexpr int kKnownCuda = 13000;

}  // namespace gangway::intercept
