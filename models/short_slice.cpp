#include "models/short_slice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangway {

std::string short_slice_text(Duration slice, Duration bound, const std::string& where) {
  const bool in_ms = std::min(slice, bound) < Duration{100'000'000};  // both in one unit, to be compared
  const auto text = [&](Duration time) {
    return fmt::format("{:.3f} {}", static_cast<double>(time.ns) / (in_ms ? 1e6 : 1e9), in_ms ? "ms" : "s");
  };
  return fmt::format(
      "the slice of {}{}{} is not longer than the {} that the two largest memories take to go and come",
      text(slice), where.empty() ? "" : " ", where, text(bound));
}

}  // namespace gangway
