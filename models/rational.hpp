// Exact rational numbers, so that cases of equality (a utilisation of exactly M*) are decided correctly.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gangway {

// In lowest terms, positive denominator, unbounded. Numerators and denominators up to 63 bits need no
// allocation, and no division if both operands are whole; larger ones use Boost's integers. Dividing by zero
// is a programming error (std::domain_error).
class Rational {
 public:
  Rational() = default;
  // Allows whole numbers in formulas. NOLINTNEXTLINE(google-explicit-constructor)
  Rational(std::int64_t whole) : num_(whole) {
    if (whole == INT64_MIN) widen_least();
  }
  Rational(std::int64_t numerator, std::int64_t denominator);
  Rational(const Rational& o) : num_(o.num_), den_(o.den_) {
    if (o.big_) copy_big(o);
  }
  Rational(Rational&&) noexcept = default;
  Rational& operator=(const Rational& o) {
    if (this == &o) return *this;
    num_ = o.num_;
    den_ = o.den_;
    big_.reset();
    if (o.big_) copy_big(o);
    return *this;
  }
  Rational& operator=(Rational&&) noexcept = default;
  ~Rational() = default;

  friend Rational operator+(const Rational& a, const Rational& b) {
    std::int64_t sum = 0;
    if (both_whole(a, b) && !__builtin_add_overflow(a.num_, b.num_, &sum) && sum != INT64_MIN)
      return Rational(sum);
    return add(a, b);
  }
  friend Rational operator-(const Rational& a, const Rational& b) {
    std::int64_t difference = 0;
    if (both_whole(a, b) && !__builtin_sub_overflow(a.num_, b.num_, &difference) && difference != INT64_MIN)
      return Rational(difference);
    return subtract(a, b);
  }
  friend Rational operator*(const Rational& a, const Rational& b) {
    std::int64_t product = 0;
    if (both_whole(a, b) && !__builtin_mul_overflow(a.num_, b.num_, &product) && product != INT64_MIN)
      return Rational(product);
    return multiply(a, b);
  }
  friend Rational operator/(const Rational& a, const Rational& b) {
    if (both_whole(a, b) && b.num_ != 0 && a.num_ % b.num_ == 0) return Rational(a.num_ / b.num_);
    return divide(a, b);
  }
  Rational operator-() const { return Rational(0) - *this; }
  Rational& operator+=(const Rational& o) { return *this = *this + o; }
  Rational& operator-=(const Rational& o) { return *this = *this - o; }

  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    if (both_whole(a, b)) return a.num_ <=> b.num_;
    return compare(a, b);
  }
  friend bool operator==(const Rational& a, const Rational& b) { return (a <=> b) == 0; }

  bool whole() const;
  // floor(a / b) and ceil(a / b) as whole numbers; b > 0.
  static Rational floor_of(const Rational& a, const Rational& b) {
    if (both_whole(a, b)) return Rational(a.num_ / b.num_ - (a.num_ % b.num_ < 0 ? 1 : 0));
    return floor_wide(a, b);
  }
  static Rational ceil_of(const Rational& a, const Rational& b) {
    if (both_whole(a, b)) return Rational(a.num_ / b.num_ + (a.num_ % b.num_ > 0 ? 1 : 0));
    return -floor_wide(-a, b);
  }
  // The least positive whole number whose product with each is whole.
  static Rational common_denominator(const Rational& a, const Rational& b);
  // The least common multiple; a and b whole and positive.
  static Rational common_multiple(const Rational& a, const Rational& b);

  // The number itself if whole and below 2^63 in magnitude.
  std::optional<std::int64_t> integer() const;
  double number() const;     // the nearest double, infinite beyond its range
  std::string text() const;  // 23/3, 8, -1/2

 private:
  struct Big;
  struct Free {
    void operator()(Big* big) const;
  };
  explicit Rational(std::unique_ptr<Big, Free> big) : big_(std::move(big)) {}

  static bool both_whole(const Rational& a, const Rational& b) {
    return a.den_ == 1 && b.den_ == 1 && !a.big_ && !b.big_;
  }
  static Rational add(const Rational& a, const Rational& b);
  static Rational subtract(const Rational& a, const Rational& b);
  static Rational multiply(const Rational& a, const Rational& b);
  static Rational divide(const Rational& a, const Rational& b);
  static Rational floor_wide(const Rational& a, const Rational& b);
  static std::strong_ordering compare(const Rational& a, const Rational& b);
  static Rational narrowed(Big value);
  static Big wide(const Rational& a);
  void widen_least();
  void copy_big(const Rational& o);

  std::int64_t num_ = 0, den_ = 1;  // the value, unless
  std::unique_ptr<Big, Free> big_;  // it is too large
};

// Consumes an unsigned number at the start of `text`: 12, 0.1 (which is 1/10), 2.5e3, 1/3. None if there is
// none, it has more than 18 digits, a zero denominator, or an exponent beyond 30.
std::optional<Rational> take_rational(std::string_view& text);

}  // namespace gangway
