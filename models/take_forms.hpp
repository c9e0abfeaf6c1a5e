// Which launches of kernels that can leave before their end take such a form.
#pragma once

#include <cstdint>
#include <string_view>

namespace gangway {

enum class TakeForms : std::uint32_t {
  none,
  worth,  // of kernels that last long enough
  all,    // that can
};

// By "none", "worth" or "all"; any other name: none.
constexpr TakeForms take_forms_named(std::string_view name) {
  return name == "worth" ? TakeForms::worth : name == "all" ? TakeForms::all : TakeForms::none;
}

}  // namespace gangway
