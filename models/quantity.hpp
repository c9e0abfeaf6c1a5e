// Strong types for time, bytes, bandwidth and block counts, and their text forms.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace gangway {

// A time span in whole nanoseconds; never negative unless a contract says so.
struct Duration {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  constexpr Duration operator+(Duration o) const { return {ns + o.ns}; }
  constexpr Duration operator-(Duration o) const { return {ns - o.ns}; }
  constexpr Duration& operator+=(Duration o) {
    ns += o.ns;
    return *this;
  }
  static constexpr Duration max() { return {INT64_MAX}; }
};

// An instant: nanoseconds since the start of the run.
struct Time {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Time, Time) = default;
  constexpr Time operator+(Duration d) const { return {ns + d.ns}; }
  constexpr Time operator-(Duration d) const { return {ns - d.ns}; }
  constexpr Duration operator-(Time o) const { return {ns - o.ns}; }
  static constexpr Time max() { return {INT64_MAX}; }
};

struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes operator+(Bytes o) const { return {count + o.count}; }
  constexpr Bytes operator-(Bytes o) const { return {count - o.count}; }
  constexpr Bytes& operator+=(Bytes o) { return *this = *this + o; }
  constexpr Bytes& operator-=(Bytes o) { return *this = *this - o; }
};

struct Bandwidth {
  std::int64_t bytes_per_second = 0;
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
};

// Mean events per second; above 0 if read from a text.
struct Rate {
  double per_second = 0;
  friend constexpr auto operator<=>(Rate, Rate) = default;
};

// A number of block-tasks (the work of one thread block of the original grid).
struct BlockCount {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(BlockCount, BlockCount) = default;
  constexpr BlockCount operator+(BlockCount o) const { return {count + o.count}; }
  constexpr BlockCount operator-(BlockCount o) const { return {count - o.count}; }
  constexpr BlockCount& operator+=(BlockCount o) { return *this = *this + o; }
};
// `each` per block.
constexpr Bytes operator*(Bytes each, BlockCount blocks) { return {each.count * blocks.count}; }

namespace literals {
constexpr Duration operator""_ns(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Duration operator""_us(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000}; }
constexpr Duration operator""_ms(unsigned long long n) { return {static_cast<std::int64_t>(n) * 1'000'000}; }
constexpr Duration operator""_s(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1'000'000'000};
}
}  // namespace literals

// floor(a * b / c) and ceil(a * b / c) without intermediate overflow; a, b >= 0, c > 0. Results are capped at
// 10^18 (31 years in ns), so that sums stay within the clock.
std::int64_t mul_div_floor_wide(std::int64_t a, std::int64_t b, std::int64_t c);
inline std::int64_t mul_div_floor(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return mul_div_floor_wide(a, b, c);
  return product / c;
}
std::int64_t mul_div_ceil(std::int64_t a, std::int64_t b, std::int64_t c);

// d times a factor, rounded down, or to nearest with halves up. Exact for factors of at most nine decimals;
// factor >= 0.
Duration scaled_down(Duration d, double factor);
Duration scaled_nearest(Duration d, double factor);

// Time for a copy of `size`: ceil(size / bandwidth), without latency.
Duration transfer_time(Bytes size, Bandwidth bandwidth);

// What a quantity's text should have been, for an error message; empty if it was valid.
struct ParseFailure {
  std::string expected;
};

// Parses a quantity exactly. Fails unless it is a whole number of nanoseconds, bytes or bytes per second, not
// negative, finite, and at most 100 days, 1 EiB or 1 PB/s. Units: ns us ms s; B kB MB GB TB KiB MiB GiB TiB;
// those per s.
bool parse(std::string_view text, Duration& out, ParseFailure& why);
bool parse(std::string_view text, Bytes& out, ParseFailure& why);
bool parse(std::string_view text, Bandwidth& out, ParseFailure& why);
// From one per 10^6 s to 10^9 per second. Units: /s, /min, /h, /ms, /us. Not exact.
bool parse(std::string_view text, Rate& out, ParseFailure& why);
// A plain decimal number or a percentage: `0.5`, `5 %`.
bool parse_share(std::string_view text, double& out, ParseFailure& why);

// Shortest exact text with the largest fitting unit: 1500000 ns -> "1.5 ms".
std::string to_text(Duration d);
std::string to_text(Bytes b);
std::string to_text(Rate r);  // 60/s
// Shortest text that reads back as the same double.
std::string to_text(double x);

}  // namespace gangway
