// Exact numbers against Boost's, across the border where they no longer fit into 64 bits.
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <stdexcept>

#include "models/random.hpp"
#include "models/rational.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

using Big = boost::multiprecision::cpp_rational;
using BigInteger = boost::multiprecision::cpp_int;

std::string text(const Big& value) { return value.str(); }

// Small and large magnitudes, borders, and denominators that share factors.
std::int64_t draw(Stream& random) {
  constexpr std::array<std::int64_t, 6> kBorders{0,     1, INT64_MAX, INT64_MAX - 1, std::int64_t{1} << 32,
                                                 720720};
  const auto bits = 1 + random.below(62);
  const auto value = random.below(8) == 0 ? kBorders[random.below(kBorders.size())]
                                          : static_cast<std::int64_t>(random.next() >> (64 - bits));
  return random.below(2) == 0 ? value : -value;
}

std::pair<Rational, Big> draw_pair(Stream& random) {
  const std::int64_t num = draw(random);
  std::int64_t den = random.below(3) == 0 ? 1 : draw(random);
  if (den == 0) den = 3;
  return {Rational(num, den), Big(num) / Big(den)};
}

BigInteger floor_of(const Big& value) {
  BigInteger quotient = numerator(value) / denominator(value);
  if (quotient * denominator(value) > numerator(value)) --quotient;
  return quotient;
}

TEST_CASE("rationals agree with Boost's, also after many operations") {
  Stream random(1, "rationals", {});
  for (int n = 0; n < 20'000; ++n) {
    auto [a, big_a] = draw_pair(random);
    for (int m = 0; m < 4; ++m) {  // the second operand of each step is new, the first may have grown
      const auto [b, big_b] = draw_pair(random);
      REQUIRE((a < b) == (big_a < big_b));
      REQUIRE((a == b) == (big_a == big_b));
      if (b > Rational(0)) {
        const Big quotient = big_a / big_b;
        REQUIRE(Rational::floor_of(a, b).text() == text(Big(floor_of(quotient))));
        REQUIRE(Rational::ceil_of(a, b).text() == text(-Big(floor_of(-quotient))));
      }
      const auto operation = random.below(b == Rational(0) ? 3 : 4);
      a = operation == 0 ? a + b : operation == 1 ? a - b : operation == 2 ? a * b : a / b;
      big_a = operation == 0   ? Big(big_a + big_b)
              : operation == 1 ? Big(big_a - big_b)
              : operation == 2 ? Big(big_a * big_b)
                               : Big(big_a / big_b);
      REQUIRE(a.text() == text(big_a));
      REQUIRE(a.number() == big_a.convert_to<double>());
      REQUIRE(a.whole() == (denominator(big_a) == 1));
    }
  }
}

TEST_CASE("rationals at the border of 64 bits") {
  const Rational most = INT64_MAX;
  CHECK((most + 1).text() == "9223372036854775808");
  CHECK((most + 1 - 1) == most);
  CHECK((most + 1 - 1).integer() == INT64_MAX);
  CHECK_FALSE((most + 1).integer());
  CHECK(Rational(INT64_MIN).text() == "-9223372036854775808");
  CHECK(-Rational(INT64_MIN) == most + 1);
  CHECK((most * most / most) == most);
  CHECK(Rational(1, INT64_MAX) + Rational(1, INT64_MAX - 1) > Rational(2, INT64_MAX));
  CHECK_THROWS_AS(Rational(1) / Rational(0), std::domain_error);
  const Rational copy = most * most;
  Rational other = copy;
  other = other + 1;
  CHECK(copy == most * most);
  CHECK(other > copy);
}

TEST_CASE("decimals and fractions are read exactly") {
  const auto read = [](std::string_view text) {
    const auto value = take_rational(text);
    return (value ? value->text() : "none") + (text.empty() ? "" : "|" + std::string(text));
  };
  CHECK(read("0.1") == "1/10");
  CHECK(read("3.80") == "19/5");
  CHECK(read("12") == "12");
  CHECK(read("1/3") == "1/3");
  CHECK(read("4/6") == "2/3");
  CHECK(read("2.5e3") == "2500");
  CHECK(read("25e-1 ms") == "5/2| ms");
  CHECK(read("1e+2") == "100");
  CHECK(read("3 ms") == "3| ms");
  CHECK(read("999999999999999999") == "999999999999999999");
  for (const char* wrong : {"", ".5", "5.", "-1", "+1", "1/0", "1/", "1e31", "1e", "x", "1.2.3e"})
    CHECK(read(wrong).find_first_of("n|") != std::string::npos);
  for (const char* wrong : {"1234567890123456789", "0.1234567890123456789", "1/1234567890123456789", "1e-31"})
    CHECK(read(wrong).starts_with("none"));
}

}  // namespace
}  // namespace gangway
