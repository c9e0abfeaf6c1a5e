// The streams that calls name.
#pragma once

#include <string_view>
#include <type_traits>

#include "hw/intercept/driver.hpp"

namespace gangway::intercept {

// Functions with these endings take the default stream as the thread's own.
constexpr bool per_thread(std::string_view symbol) {
  return symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
}

// The stream that a call names: its argument of that type, or the one in a structure.
inline CUstream stream_in() { return nullptr; }
template <typename First, typename... Rest>
CUstream stream_in(First first, Rest... rest) {
  if constexpr (std::is_same_v<First, CUstream>)
    return first;
  else if constexpr (std::is_same_v<First, const CUlaunchConfig*>)
    return first != nullptr ? first->hStream : nullptr;  // the driver refuses none
  else if constexpr (std::is_same_v<First,
                                    CUDA_LAUNCH_PARAMS*>)  // one for each device: the first stands for all
    return first != nullptr ? first->hStream : nullptr;
  else
    return stream_in(rest...);
}

}  // namespace gangway::intercept
