#include "models/shown_size.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace gangway {

std::string shown_size(Bytes size) {
  static constexpr std::array<std::pair<const char*, std::int64_t>, 4> kUnits{
      {{"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}}};
  for (const auto& [name, scale] : kUnits) {
    if (size.count < scale) continue;
    const double hundredths = 100 * (static_cast<double>(size.count) / static_cast<double>(scale));
    const double rounded = std::round(hundredths) / 100;
    if (std::round(hundredths) == hundredths) return fmt::format("{} {}", rounded, name);
    return fmt::format("{:.2f} {} ({} B)", rounded, name, size.count);
  }
  return fmt::format("{} B", size.count);
}

}  // namespace gangway
