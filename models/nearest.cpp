#include "models/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gangway {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  // A very long wrong name would make the distance slow, and its beginning decides anyway.
  const std::string_view start = name.substr(0, 64);
  const auto distance = [&](const std::string& candidate) {
    constexpr std::size_t kFewLetters = 3;  // say little as a beginning
    const bool begun = start.size() >= kFewLetters && candidate.starts_with(start);
    return begun ? std::size_t{1} : edit_distance(start, candidate);
  };
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (best == candidates.end()) return "";
  constexpr std::size_t kLettersPerSlip = 3;
  const std::size_t letters = std::max(start.size(), best->size());
  const bool near =
      distance(*best) <= std::max<std::size_t>(1, letters / kLettersPerSlip) && distance(*best) < letters;
  return near ? *best : "";
}

bool resembles(std::string_view a, std::string_view b) {
  const std::size_t slips = b.size() > 4 ? 2 : b.size() == 4 ? 1 : 0;
  return slips > 0 && a.size() <= b.size() + slips && edit_distance(a, b) <= slips;
}

std::string expected_names(std::string_view found, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "none";
  constexpr std::size_t kMost = 24;
  const std::vector<std::string> shown(
      candidates.begin(),
      candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMost)));
  const std::string meant = nearest(found, candidates);
  return fmt::format("one of {}{}{}", fmt::join(shown, ", "), candidates.size() > kMost ? ", ..." : "",
                     meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant));
}

}  // namespace gangway
