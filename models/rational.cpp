#include "models/rational.hpp"

#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <numeric>
#include <stdexcept>

namespace gangway {
namespace {

__extension__ using Wide = __int128;
using BigInteger =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
using BigRational = boost::multiprecision::number<
    boost::multiprecision::rational_adaptor<boost::multiprecision::cpp_int_backend<>>,
    boost::multiprecision::et_off>;

// Operands stay below 2^63 in magnitude, so products fit 126 bits and sums of two of them 127.
bool fits(Wide value) { return value <= INT64_MAX && value >= -INT64_MAX; }

Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }

BigInteger floor_div(const BigInteger& a, const BigInteger& b) {
  BigInteger quotient = 0;
  BigInteger rest = 0;
  boost::multiprecision::divide_qr(a, b, quotient, rest);
  if (rest < 0) quotient -= 1;
  return quotient;
}

}  // namespace

struct Rational::Big {
  BigRational value;
};

void Rational::Free::operator()(Big* big) const { delete big; }

void Rational::widen_least() { *this = subtract(Rational(-INT64_MAX), Rational(1)); }

void Rational::copy_big(const Rational& o) { big_.reset(new Big(*o.big_)); }

Rational::Big Rational::wide(const Rational& a) {
  return a.big_ ? *a.big_ : Big{BigRational(BigInteger(a.num_), BigInteger(a.den_))};
}

Rational Rational::narrowed(Big value) {
  const BigInteger num = numerator(value.value);
  const BigInteger den = denominator(value.value);
  if (abs(num) <= INT64_MAX && den <= INT64_MAX) {
    Rational small;
    small.num_ = num.convert_to<std::int64_t>();
    small.den_ = den.convert_to<std::int64_t>();
    return small;
  }
  return Rational(std::unique_ptr<Big, Free>(new Big(std::move(value))));
}

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  *this = divide(Rational(numerator), Rational(denominator));
}

// Knuth, The Art of Computer Programming 2, 4.5.1: greatest common divisors of small numbers only.
Rational Rational::add(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    const std::int64_t shared = std::gcd(a.den_, b.den_);
    const Wide sum =
        static_cast<Wide>(a.num_) * (b.den_ / shared) + static_cast<Wide>(b.num_) * (a.den_ / shared);
    const auto reduce = std::gcd(static_cast<std::int64_t>(sum % shared), shared);
    const Wide num = sum / reduce;
    const Wide den = static_cast<Wide>(a.den_ / shared) * (b.den_ / reduce);
    if (fits(num) && fits(den)) {
      Rational out;
      out.num_ = static_cast<std::int64_t>(num);
      out.den_ = static_cast<std::int64_t>(den);
      return out;
    }
  }
  return narrowed({wide(a).value + wide(b).value});
}

Rational Rational::subtract(const Rational& a, const Rational& b) {
  if (b.big_) return narrowed({wide(a).value - b.big_->value});
  Rational negative = b;
  negative.num_ = -b.num_;
  return add(a, negative);
}

Rational Rational::multiply(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    const std::int64_t one = std::gcd(a.num_, b.den_);
    const std::int64_t other = std::gcd(b.num_, a.den_);
    const Wide num = static_cast<Wide>(a.num_ / one) * (b.num_ / other);
    const Wide den = static_cast<Wide>(a.den_ / other) * (b.den_ / one);
    if (fits(num) && fits(den)) {
      Rational out;
      out.num_ = static_cast<std::int64_t>(num);
      out.den_ = static_cast<std::int64_t>(den);
      return out;
    }
  }
  return narrowed({wide(a).value * wide(b).value});
}

Rational Rational::divide(const Rational& a, const Rational& b) {
  if (b == Rational(0)) throw std::domain_error("division of a rational by zero");
  if (b.big_) return narrowed({wide(a).value / b.big_->value});
  Rational inverse;
  inverse.num_ = b.num_ < 0 ? -b.den_ : b.den_;
  inverse.den_ = b.num_ < 0 ? -b.num_ : b.num_;
  return multiply(a, inverse);
}

std::strong_ordering Rational::compare(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) return static_cast<Wide>(a.num_) * b.den_ <=> static_cast<Wide>(b.num_) * a.den_;
  const int sign = wide(a).value.compare(wide(b).value);
  return sign <=> 0;
}

bool Rational::whole() const { return big_ ? denominator(big_->value) == 1 : den_ == 1; }

Rational Rational::floor_wide(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    const Wide floor = floor_div(static_cast<Wide>(a.num_) * b.den_, static_cast<Wide>(b.num_) * a.den_);
    if (fits(floor)) return Rational(static_cast<std::int64_t>(floor));
  }
  const BigRational quotient = wide(a).value / wide(b).value;
  return narrowed({BigRational(floor_div(numerator(quotient), denominator(quotient)))});
}

Rational Rational::common_denominator(const Rational& a, const Rational& b) {
  const auto below = [](const Rational& x) {
    return x.big_ ? narrowed({BigRational(denominator(x.big_->value))}) : Rational(x.den_);
  };
  return common_multiple(below(a), below(b));
}

Rational Rational::common_multiple(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) return Rational(a.num_ / std::gcd(a.num_, b.num_)) * b;
  return narrowed({BigRational(lcm(numerator(wide(a).value), numerator(wide(b).value)))});
}

std::optional<std::int64_t> Rational::integer() const {
  return big_ || den_ != 1 ? std::nullopt : std::optional(num_);
}

double Rational::number() const {
  // Both parts are doubles exactly up to 2^53, and the quotient is rounded once.
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (!big_ && num_ <= kExact && num_ >= -kExact && den_ <= kExact)
    return static_cast<double>(num_) / static_cast<double>(den_);
  return wide(*this).value.convert_to<double>();
}

std::string Rational::text() const {
  if (big_) return big_->value.str();
  return den_ == 1 ? std::to_string(num_) : std::to_string(num_) + "/" + std::to_string(den_);
}

namespace {

constexpr int kMostDigits = 18;
constexpr int kMostExponent = 30;

// Digits at the front of `text`, appended to `value`; how many there were.
int take_digits(std::string_view& text, std::int64_t& value) {
  int count = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1))
    if (++count <= kMostDigits) value = value * 10 + (text.front() - '0');
  return count;
}

Rational power_of_ten(int exponent) {
  Rational out = 1;
  for (; exponent > 0; --exponent) out = out * 10;
  return out;
}

std::optional<int> take_exponent(std::string_view& text) {
  std::string_view rest = text.substr(1);
  if (rest.starts_with('+')) rest.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
  if (error != std::errc() || exponent > kMostExponent || exponent < -kMostExponent) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return exponent;
}

}  // namespace

std::optional<Rational> take_rational(std::string_view& text) {
  std::int64_t digits = 0;
  int count = take_digits(text, digits);
  if (count == 0 || count > kMostDigits) return std::nullopt;
  if (text.starts_with('/')) {
    text.remove_prefix(1);
    std::int64_t denominator = 0;
    const int below = take_digits(text, denominator);
    if (below == 0 || below > kMostDigits || denominator == 0) return std::nullopt;
    return Rational(digits, denominator);
  }
  int exponent = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    // Continues the same number, so the limit is on all digits together.
    std::string_view fraction = text.substr(0, text.find_first_not_of("0123456789"));
    exponent = -static_cast<int>(fraction.size());
    if (fraction.empty() || count + fraction.size() > kMostDigits) return std::nullopt;
    take_digits(text, digits);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    const auto given = take_exponent(text);
    if (!given) return std::nullopt;
    exponent += *given;
  }
  return exponent >= 0 ? Rational(digits) * power_of_ten(exponent)
                       : Rational(digits) / power_of_ten(-exponent);
}

}  // namespace gangway
