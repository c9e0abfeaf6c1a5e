// Which launches of kernels that can leave before their end take such a form.
#pragma once

#include <cstdint>

namespace gangway {

enum class TakeForms : std::uint32_t {
  none,
  worth,  // of kernels that last long enough
  all,    // that can
};

}  // namespace gangway
