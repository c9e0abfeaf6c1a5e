#include "workloads/arrival_times.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "models/data_file.hpp"
#include "models/input/table.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kLatest = 100LL * 86'400 * 1'000'000'000;  // ns
constexpr long double kWidest = 9e18L;                            // ns

struct TimeUnit {
  const char* name;
  long double ns;
};
constexpr std::array<TimeUnit, 4> kUnits{{{"s", 1e9L}, {"ms", 1e6L}, {"us", 1e3L}, {"ns", 1}}};
constexpr const char* kTimestamp = "timestamp";

// Takes exactly so many digits off the front.
bool take_digits(std::string_view& text, std::size_t count, int& out) {
  if (text.size() < count) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, out);
  if (error != std::errc() || end != text.data() + count || text.front() == '-') return false;
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// .6805900, in ns, to the nearest; 0 where there is none.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!text.starts_with('.') && !text.starts_with(',')) return 0;
  double share = 0;
  std::size_t digits = 1;
  for (double unit = 0.1; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    share += (text[digits] - '0') * unit;
    unit /= 10;
  }
  if (digits == 1) return std::nullopt;
  text.remove_prefix(digits);
  return std::llround(share * 1e9);
}

// Z, UTC, +02:00, +0200, -07, or nothing: how far the clock is ahead of UTC, in s.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  while (take(text, " ")) {
  }
  if (text.empty() || text == "Z" || text == "UTC") {
    text = {};
    return 0;
  }
  const int sign = text.front() == '-' ? -1 : 1;
  int hours = 0, minutes = 0;
  if (!take(text, "+-") || !take_digits(text, 2, hours)) return std::nullopt;
  take(text, ":");
  if (!text.empty() && !take_digits(text, 2, minutes)) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

std::optional<std::int64_t> parse_number(std::string_view text, long double unit) {
  long double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const long double ns = std::round(value * unit);
  if (!(std::abs(ns) < kWidest)) return std::nullopt;  // true of what is not a number
  return static_cast<std::int64_t>(ns);
}

std::string_view trimmed(std::string_view text) {
  while (take(text, " \t")) {
  }
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Which column has the times, and what they are.
struct Layout {
  std::optional<Field> column;      // none: the only one
  std::optional<long double> unit;  // in ns; none: timestamps
  // What counts as 0: a time, or that of the first row. Earlier rows are left out.
  std::optional<Timestamp> from;
  double rate_scale = 1;

  std::optional<Timestamp> parse(std::string_view text) const {
    if (!unit) return parse_timestamp(trimmed(text));
    const auto ns = parse_number(trimmed(text), *unit);
    return ns ? std::optional(Timestamp{*ns, false}) : std::nullopt;
  }
  const char* expected() const {
    return unit ? "a time as a plain number" : "a date and time such as 2023-11-16 18:15:46.68";
  }
};

const char* with_zone(bool zoned) {
  return zoned ? "an offset from UTC, as the first row has" : "no offset from UTC, as the first row has none";
}

Layout read_layout(Mapping& arrivals) {
  Layout layout;
  layout.column = arrivals.maybe("column");
  std::vector<std::string> units{kTimestamp};
  for (const TimeUnit& unit : kUnits) units.emplace_back(unit.name);
  const std::string unit = arrivals.need("unit").one_of(units);
  for (const TimeUnit& known : kUnits)
    if (unit == known.name) layout.unit = known.ns;
  const auto from = arrivals.maybe("from");
  const bool first = from ? from->is_scalar() && from->node().scalar == "first" : !layout.unit;
  if (!first && layout.unit) layout.from = Timestamp{from ? from->duration().ns : 0, false};
  if (!first && !layout.unit) {
    layout.from = from->is_scalar() ? parse_timestamp(from->text()) : std::nullopt;
    if (!layout.from) from->fail("first, or a date and time such as 2023-11-16 18:15:46.68");
  }
  if (auto scale = arrivals.maybe("rate_scale")) layout.rate_scale = scale->number(1e-6, 1e6);
  return layout;
}

std::size_t column_of(const Table& table, const Layout& layout) {
  if (!layout.column) {
    if (table.columns().size() == 1) return 0;
    throw InputError({table.file().string(), 1}, "columns", fmt::format("{} columns", table.columns().size()),
                     "one, or the name of one as `column`");
  }
  if (const auto place = table.column_if_any(layout.column->text())) return *place;
  layout.column->fail(quote(layout.column->text()) + ", which " + table.file().string() + " does not have",
                      fmt::format("one of its columns: {}", fmt::join(table.columns(), ", ")));
}

}  // namespace

std::optional<Timestamp> parse_timestamp(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 4, year) || !take(text, "-/") || !take_digits(text, 2, month) || !take(text, "-/") ||
      !take_digits(text, 2, day) || !take(text, " T") || !take_digits(text, 2, hour) || !take(text, ":") ||
      !take_digits(text, 2, minute) || !take(text, ":") || !take_digits(text, 2, second))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const auto fraction = take_fraction(text);
  const bool zoned = !trimmed(text).empty();
  const auto zone = take_zone(text);
  // Years that an int64 of ns reaches for certain.
  if (!fraction || !zone || !text.empty() || !date.ok() || year < 1700 || year > 2250 || hour > 23 ||
      minute > 59 || second > 60)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second - *zone;
  return Timestamp{seconds * 1'000'000'000 + *fraction, zoned};
}

std::shared_ptr<const std::vector<Duration>> read_arrival_times(Mapping& arrivals) {
  const Field file = arrivals.need("file");
  const Layout layout = read_layout(arrivals);
  const DataFile data = read_data_file(file);
  Table table(data.path, content_of(data, file));
  const std::size_t column = column_of(table, layout);
  auto times = std::make_shared<std::vector<Duration>>();
  std::optional<std::int64_t> zero, last;
  std::optional<bool> zoned;
  if (layout.from) zero = layout.from->ns;
  while (table.next()) {
    const auto parsed = layout.parse(table.text(column));
    if (!parsed) table.refuse(column, layout.expected());
    const std::int64_t time = parsed->ns;
    if (!zoned) zoned = parsed->zoned;
    if (parsed->zoned != *zoned) table.refuse(column, with_zone(*zoned));
    if (last && time < *last) table.refuse(column, "a time not before the previous row's");
    last = time;
    if (!zero) zero = time;
    if (time < 0 && layout.from && layout.unit) table.refuse(column, "a time from 0 on, or `from: first`");
    if (time < *zero) continue;
    // Centuries apart, their difference may not fit.
    const double ns = static_cast<double>(static_cast<long double>(time) - static_cast<long double>(*zero)) /
                      layout.rate_scale;
    if (!(ns <= static_cast<double>(kLatest)))
      table.refuse(column, "a time at most 100 days after the first (`from: first` counts from that)");
    times->push_back({layout.rate_scale == 1 ? time - *zero : std::llround(ns)});
  }
  if (!last)
    throw InputError({table.file().string(), 2}, table.columns()[column], "no row", "at least one time");
  if (layout.from && !layout.unit && layout.from->zoned != *zoned)
    arrivals.need("from").fail(with_zone(*zoned));
  if (times->empty()) arrivals.need("from").fail("a time not after the last one in the file");
  return times;
}

}  // namespace gangway
