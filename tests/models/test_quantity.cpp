#include "models/quantity.hpp"
#include "models/shown.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

std::int64_t ns(const std::string& text) {
  Duration d;
  ParseFailure why;
  return parse(text, d, why) ? d.ns : -1;
}

std::int64_t bytes(const std::string& text) {
  Bytes b;
  ParseFailure why;
  return parse(text, b, why) ? b.count : -1;
}

}  // namespace

TEST_CASE("times are exact and need a unit") {
  CHECK(ns("3.71 ms") == 3'710'000);
  CHECK(ns("45us") == 45'000);
  CHECK(ns("1e3 us") == 1'000'000);
  CHECK(ns("0.001 us") == 1);
  CHECK(ns("0 ms") == 0);
  CHECK(ns("100 s") == 100'000'000'000);
  for (const char* bad :
       {"", "5", "ms", "-1 ms", "0.5 ns", "1.0000001 ms", "1 min", "1e40 s", "8640001 s", "nan ms", "1 ms ",
        "1. ms", ".5 ms", "0x10 ms", "99999999999999999999 ns", "1 msec", "1 MS"})
    CHECK(ns(bad) == -1);
}

TEST_CASE("sizes know decimal and binary units") {
  CHECK(bytes("12 GiB") == 12LL << 30);
  CHECK(bytes("1.5 MB") == 1'500'000);
  CHECK(bytes("4 B") == 4);
  CHECK(bytes("0.5 B") == -1);
  CHECK(bytes("12") == -1);
}

TEST_CASE("text forms read back as the same quantity") {
  for (const std::int64_t value :
       {0LL, 1LL, 999LL, 1'000LL, 1'234'567LL, 250'000LL, 1'000'000'000LL, 86'400'000'000'001LL}) {
    CHECK(ns(to_text(Duration{value})) == value);
    CHECK(bytes(to_text(Bytes{value})) == value);
  }
  CHECK(to_text(Duration{250'000}) == "250 us");
  CHECK(to_text(Duration{1'500'000}) == "1.5 ms");
  CHECK(to_text(Bytes{96 << 10}) == "96 KiB");
}

TEST_CASE("products and quotients do not overflow in between") {
  CHECK(mul_div_floor(1'000'000'000'000, 1'000'000'000'000, 1'000'000'000'000) == 1'000'000'000'000);
  CHECK(mul_div_floor(7, 3, 2) == 10);
  CHECK(mul_div_ceil(7, 3, 2) == 11);
  CHECK(mul_div_ceil(8, 3, 2) == 12);
}

TEST_CASE("factors count as the decimals they are written with") {
  CHECK(scaled_nearest(Duration{50}, 0.91) == Duration{46});  // 45.5, half up
  CHECK(scaled_nearest(Duration{1'635'000}, 0.97) == Duration{1'585'950});
  CHECK(scaled_down(Duration{1000}, 0.001) == Duration{1});  // 0.001 is no double
  CHECK(scaled_down(Duration{3}, 0.5) == Duration{1});
}

TEST_CASE("a copy takes its size over the bandwidth, rounded up") {
  CHECK(transfer_time(Bytes{1}, Bandwidth{3'000'000'000}) == Duration{1});
  CHECK(transfer_time(Bytes{12'000'000}, Bandwidth{12'000'000'000}) == Duration{1'000'000});
}

TEST_CASE("sizes in messages are short and unmistakable") {
  CHECK(shown_size(Bytes{0}) == "0 B");
  CHECK(shown_size(Bytes{1023}) == "1023 B");
  CHECK(shown_size(Bytes{12LL << 30}) == "12 GiB");
  CHECK(shown_size(Bytes{3LL << 29}) == "1.5 GiB");
  CHECK(shown_size(Bytes{83'519'344LL << 10}) == "79.65 GiB (85523808256 B)");
  CHECK(shown_size(Bytes{(1LL << 20) + 1}) == "1.00 MiB (1048577 B)");
  CHECK(shown_size(Bytes{5LL << 40}) == "5 TiB");
}

TEST_CASE("rounded quantities have three digits, in a unit of which they are at least 1") {
  CHECK(rounded_time(Duration{0}) == "0 ns");
  CHECK(rounded_time(Duration{999}) == "999 ns");
  CHECK(rounded_time(Duration{1234}) == "1.23 us");
  CHECK(rounded_time(Duration{999'499}) == "999 us");
  CHECK(rounded_time(Duration{999'500}) == "1 ms");
  CHECK(rounded_time(Duration{99'950'000}) == "100 ms");
  CHECK(rounded_time(Duration{-2'500'000}) == "-2.5 ms");
  CHECK(rounded_time(Duration{59'900'000'000}) == "59.9 s");
  CHECK(rounded_time(Duration{5400'000'000'000}) == "90 min");
  CHECK(rounded_size(Bytes{1023}) == "1023 B");
  CHECK(rounded_size(Bytes{1536}) == "1.5 KiB");
  CHECK(rounded_size(Bytes{(1LL << 30) - 1}) == "1 GiB");
  CHECK(rounded_size(Bytes{1000LL << 20}) == "1000 MiB");
  CHECK(rounded_size(Bytes{83'519'344LL << 10}) == "79.7 GiB");
  CHECK(rounded_size(Bytes{3LL << 50}) == "3072 TiB");
}

TEST_CASE("rates need a unit and are above zero") {
  Rate rate;
  ParseFailure why;
  for (const auto& [text, per_second] :
       {std::pair("60/s", 60.0), std::pair("0.5 /s", 0.5), std::pair("90/min", 1.5), std::pair("36/h", 0.01),
        std::pair("2/ms", 2000.0), std::pair("1/us", 1e6), std::pair("1e-6/s", 1e-6),
        std::pair("1e9/s", 1e9)}) {
    INFO(text);
    REQUIRE(parse(text, rate, why));
    CHECK(rate.per_second == Approx(per_second).epsilon(1e-15));
  }
  for (const char* wrong : {"", "60", "/s", "0/s", "-1/s", "nan/s", "inf/s", "60/s/s", "60 s", "60/ s",
                            "1.1e9/s", "1e-7/s", "+1/s"}) {
    INFO(wrong);
    CHECK_FALSE(parse(wrong, rate, why));
  }
  CHECK(to_text(Rate{60}) == "60/s");
}
