#include "models/shown.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace gangway {
namespace {

struct Unit {
  const char* name;
  double times;  // of the one before
};

// In the largest unit of which it is at least 1 as it is shown.
std::string rounded(double value, const char* smallest, std::initializer_list<Unit> larger) {
  const char* name = smallest;
  for (const Unit& unit : larger) {
    if (std::abs(value) < 0.9995 * unit.times) break;
    value /= unit.times;
    name = unit.name;
  }
  return std::abs(value) >= 99.95 ? fmt::format("{:.0f} {}", value, name)
                                  : fmt::format("{:.3g} {}", value, name);
}

}  // namespace

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

std::string rounded_size(Bytes size) {
  return rounded(static_cast<double>(size.count), "B",
                 {{"KiB", 1024}, {"MiB", 1024}, {"GiB", 1024}, {"TiB", 1024}});
}

std::string rounded_time(Duration time) {
  return rounded(static_cast<double>(time.ns), "ns", {{"us", 1e3}, {"ms", 1e3}, {"s", 1e3}, {"min", 60}});
}

}  // namespace gangway
