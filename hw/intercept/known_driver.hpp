// Up to which driver every function of cuda.h is in functions.def.
#pragma once

namespace gangway::intercept {

// As CUDA writes its versions. Functions that a newer driver adds do not pass the gate.
inline constexpr int kKnownCuda = 13000;

}  // namespace gangway::intercept
