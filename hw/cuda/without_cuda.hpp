// The error for using a GPU in a build without CUDA.
#pragma once

namespace gangway {

inline constexpr const char* kBuiltWithoutCuda =
    "this program was built without CUDA (no toolkit of 12 or newer was found)";

}  // namespace gangway
