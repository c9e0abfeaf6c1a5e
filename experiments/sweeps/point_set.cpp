#include "experiments/sweeps/point_set.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "models/error.hpp"

namespace gangway {
namespace {

constexpr const char* kRangesExpected = "numbers and ranges such as 0-9,12,20-29";

std::optional<std::uint32_t> parse_point(std::string_view text) {
  std::uint32_t point = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), point);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return point;
}

PointSet::Range parse_range(std::string_view text, std::uint32_t points) {
  const std::size_t dash = text.find('-');
  const auto first = parse_point(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_point(text.substr(dash + 1));
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw InputError({"--points", 0}, "--points", found, expected);
  };
  if (!first || !last) refuse(quote(std::string(text)), kRangesExpected);
  if (*last < *first) refuse(quote(std::string(text)), "a range that does not end before it begins");
  if (*last >= points)
    refuse(fmt::format("point {}", *last), fmt::format("points of this sweep, from 0 to {}", points - 1));
  return {*first, *last};
}

std::string range_text(PointSet::Range range) {
  return range.first == range.last ? fmt::format("{}", range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

}  // namespace

PointSet PointSet::all(std::uint32_t points) {
  PointSet set;
  if (points > 0) set.add({0, points - 1});
  return set;
}

PointSet PointSet::parse(const std::string& text, std::uint32_t points) {
  PointSet set;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    set.add(parse_range(rest.substr(0, comma), points));
    if (comma == std::string_view::npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

void PointSet::add(Range range) { points_ += Interval(range.first, std::uint64_t{range.last} + 1); }

void PointSet::add(const PointSet& others) { points_ += others.points_; }

bool PointSet::has(std::uint32_t point) const { return boost::icl::contains(points_, std::uint64_t{point}); }

PointSet PointSet::without(const PointSet& others) const {
  PointSet rest = *this;
  rest.points_ -= others.points_;
  return rest;
}

std::vector<PointSet::Range> PointSet::ranges() const {
  std::vector<Range> ranges;
  for (const Interval& interval : points_)
    ranges.push_back(
        {static_cast<std::uint32_t>(interval.lower()), static_cast<std::uint32_t>(interval.upper() - 1)});
  return ranges;
}

std::string PointSet::text() const {
  std::string text;
  for (const Range& range : ranges()) text += (text.empty() ? "" : ",") + range_text(range);
  return text;
}

std::string PointSet::text_of_first(std::size_t most) const {
  std::string text;
  const std::vector<Range> all = ranges();
  for (std::size_t i = 0; i < all.size() && i < most; ++i)
    text += (text.empty() ? "" : ", ") + range_text(all[i]);
  if (all.size() > most) text += fmt::format(" and {} more ranges", all.size() - most);
  return text;
}

}  // namespace gangway
