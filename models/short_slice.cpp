#include "models/short_slice.hpp"

#include <fmt/format.h>

namespace gangway {

std::string short_slice_text(Duration slice, Duration bound, const std::string& where) {
  const auto seconds = [](Duration time) { return static_cast<double>(time.ns) / 1e9; };
  return fmt::format(
      "the slice of {:.3f} s{}{} is not longer than the {:.3f} s that the two largest memories take to go "
      "and "
      "come",
      seconds(slice), where.empty() ? "" : " ", where, seconds(bound));
}

}  // namespace gangway
