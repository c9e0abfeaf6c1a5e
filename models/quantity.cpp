#include "models/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace gangway {
namespace {

__extension__ using Wide = __int128;

// Decimal text split into an integer mantissa and a power of ten, so that 3.71 ms is exactly 3'710'000 ns.
struct Decimal {
  std::int64_t mantissa = 0;
  int exponent = 0;
};

bool digits(std::string_view& text, Decimal& d, bool fraction) {
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (d.mantissa > (INT64_MAX - 9) / 10) return false;
    d.mantissa = d.mantissa * 10 + (text.front() - '0');
    if (fraction) --d.exponent;
    text.remove_prefix(1);
    any = true;
  }
  return any;
}

// Reads the number at the front of `text` and removes it.
bool take_decimal(std::string_view& text, Decimal& d) {
  if (!digits(text, d, false)) return false;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (!digits(text, d, true)) return false;
  }
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    int exponent = 0;
    std::string_view rest = text.substr(1);
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (error != std::errc() || exponent > 30 || exponent < -30) return false;
    d.exponent += exponent;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return true;
}

// mantissa * 10^exponent * scale as a whole number in [0, limit], or false.
bool scaled(Decimal d, std::int64_t scale, std::int64_t limit, std::int64_t& out) {
  Wide value = static_cast<Wide>(d.mantissa) * scale;
  if (value == 0) {
    out = 0;
    return true;
  }
  for (; d.exponent > 0; --d.exponent) {
    if (value > limit) return false;
    value *= 10;
  }
  for (; d.exponent < 0; ++d.exponent) {
    if (value % 10 != 0) return false;
    value /= 10;
  }
  if (value > limit) return false;
  out = static_cast<std::int64_t>(value);
  return true;
}

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

template <std::size_t N>
bool parse_with_units(std::string_view text, const std::array<Unit, N>& units, std::int64_t limit,
                      std::string_view what, std::int64_t& out, ParseFailure& why) {
  why.expected = what;
  Decimal d;
  if (!take_decimal(text, d)) return false;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units)
    if (text == unit.name) return scaled(d, unit.scale, limit, out);
  return false;
}

constexpr std::array<Unit, 4> kTimeUnits{{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
constexpr std::array<Unit, 9> kByteUnits{{{"TiB", 1LL << 40},
                                          {"GiB", 1LL << 30},
                                          {"MiB", 1LL << 20},
                                          {"KiB", 1LL << 10},
                                          {"TB", 1'000'000'000'000},
                                          {"GB", 1'000'000'000},
                                          {"MB", 1'000'000},
                                          {"kB", 1'000},
                                          {"B", 1}}};
constexpr std::array<Unit, 9> kBandwidthUnits{{{"TiB/s", 1LL << 40},
                                               {"GiB/s", 1LL << 30},
                                               {"MiB/s", 1LL << 20},
                                               {"KiB/s", 1LL << 10},
                                               {"TB/s", 1'000'000'000'000},
                                               {"GB/s", 1'000'000'000},
                                               {"MB/s", 1'000'000},
                                               {"kB/s", 1'000},
                                               {"B/s", 1}}};
// In seconds.
constexpr std::array<std::pair<std::string_view, double>, 5> kRateUnits{
    {{"/s", 1}, {"/min", 60}, {"/h", 3600}, {"/ms", 1e-3}, {"/us", 1e-6}}};
constexpr std::int64_t kLongest = 100LL * 86'400 * 1'000'000'000;

std::string with_unit(std::int64_t value, const Unit& unit) {
  std::int64_t whole = value / unit.scale;
  std::int64_t rest = value % unit.scale;
  std::string text = fmt::format("{}", whole);
  if (rest != 0) {
    std::string fraction = fmt::format("{:0{}}", rest, fmt::formatted_size("{}", unit.scale) - 1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return fmt::format("{} {}", text, unit.name);
}

}  // namespace

namespace {

constexpr std::int64_t kLargest = 1'000'000'000'000'000'000;

std::int64_t cut(Wide value) { return value > kLargest ? kLargest : static_cast<std::int64_t>(value); }

}  // namespace

std::int64_t mul_div_floor_wide(std::int64_t a, std::int64_t b, std::int64_t c) {
  return cut(static_cast<Wide>(a) * b / c);
}

std::int64_t mul_div_ceil(std::int64_t a, std::int64_t b, std::int64_t c) {
  return cut((static_cast<Wide>(a) * b + c - 1) / c);
}

// A factor in whole billionths: 0.91 is 910'000'000 of them although no double is 0.91.
constexpr std::int64_t kBillion = 1'000'000'000;

Duration scaled_down(Duration d, double factor) {
  return {mul_div_floor_wide(d.ns, std::llround(factor * kBillion), kBillion)};
}

Duration scaled_nearest(Duration d, double factor) {
  const Wide doubled = 2 * static_cast<Wide>(d.ns) * std::llround(factor * kBillion);
  return {cut((doubled + kBillion) / (2 * static_cast<Wide>(kBillion)))};
}

Duration transfer_time(Bytes size, Bandwidth bandwidth) {
  return {mul_div_ceil(size.count, 1'000'000'000, bandwidth.bytes_per_second)};
}

bool parse(std::string_view text, Duration& out, ParseFailure& why) {
  return parse_with_units(text, kTimeUnits, kLongest,
                          "a time with a unit (ns, us, ms, s), in whole ns, from 0 to 100 days", out.ns, why);
}

bool parse(std::string_view text, Bytes& out, ParseFailure& why) {
  return parse_with_units(text, kByteUnits, 1LL << 60, "a size with a unit (B, kB, MB, GB, KiB, MiB, GiB)",
                          out.count, why);
}

bool parse(std::string_view text, Bandwidth& out, ParseFailure& why) {
  const bool ok =
      parse_with_units(text, kBandwidthUnits, 1'000'000'000'000'000,
                       "a bandwidth above zero with a unit (MB/s, GB/s, GiB/s)", out.bytes_per_second, why);
  return ok && out.bytes_per_second > 0;
}

bool parse(std::string_view text, Rate& out, ParseFailure& why) {
  why.expected =
      "a rate above zero with a unit (/s, /min, /h, /ms, /us), such as 60/s, from 0.000001/s to 1000000000/s";
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return false;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, seconds] : kRateUnits)
    if (unit == name) {
      out.per_second = number / seconds;
      return out.per_second >= 1e-6 && out.per_second <= 1e9;  // false of what is not a number, too
    }
  return false;
}

bool parse_share(std::string_view text, double& out, ParseFailure& why) {
  why.expected = "a number or a percentage";
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || !std::isfinite(out)) return false;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty()) return true;
  out /= 100;
  return unit == "%" || unit == " %";
}

std::string to_text(Duration d) {
  if (d.ns < 0) return "-" + to_text(Duration{-d.ns});
  for (const Unit& unit : kTimeUnits)
    if (d.ns >= unit.scale) return with_unit(d.ns, unit);
  return "0 ns";
}

std::string to_text(Bytes b) {
  for (const Unit& unit : kByteUnits)
    if (b.count >= unit.scale && b.count % unit.scale == 0) return with_unit(b.count, unit);
  return fmt::format("{} B", b.count);
}

std::string to_text(Rate r) { return fmt::format("{}/s", r.per_second); }

std::string to_text(double x) { return fmt::format("{}", x); }

}  // namespace gangway
