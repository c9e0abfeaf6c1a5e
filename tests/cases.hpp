// How many cases a test plays, and which.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gangway::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Sanitizers look at code, not at results, and make it some ten times slower: with them, of many cases one in
// this many is played. It is prime, so that nested loops do not skip the same values each time.
inline constexpr int kOneIn = kSanitized ? 11 : 1;

// Consecutive numbers: for (const int number : range).
class CaseNumbers {
 public:
  CaseNumbers(int first, int end) : first_(first), end_(end) {}

  class Iterator {
   public:
    explicit Iterator(int number) : number_(number) {}
    int operator*() const { return number_; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return number_ != other.number_; }

   private:
    int number_;
  };

  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  int size() const { return end_ - first_; }

 private:
  int first_, end_;
};

// The part with index `index` of `parts` parts of 0, ..., all - 1; together they are the whole.
inline CaseNumbers part_of(int all, int index, int parts) {
  const auto border = [&](int i) { return static_cast<int>(std::int64_t{all} * i / parts); };
  return {border(index), border(index + 1)};
}

// As part_of(), where `shard` is 3/8 for the third of eight parts. Throws std::invalid_argument.
inline CaseNumbers part_of(int all, std::string_view shard) {
  int which = 0, parts = 0;
  const char* const end = shard.data() + shard.size();
  const auto [slash, error] = std::from_chars(shard.data(), end, which);
  const bool first = error == std::errc() && slash != end && *slash == '/';
  if (first) {
    const auto [rest, second] = std::from_chars(slash + 1, end, parts);
    if (second == std::errc() && rest == end && which >= 1 && which <= parts)
      return part_of(all, which - 1, parts);
  }
  throw std::invalid_argument("GANGWAY_SHARD: found '" + std::string(shard) + "', expected 3/8 or the like");
}

// The numbers of the random cases to play: from 0 to `fast`, or to `slow` where GANGWAY_LONG is set. Under
// sanitizers one in kOneIn of that many, at least one. GANGWAY_SHARD=3/8 plays the third of eight parts.
// GANGWAY_TALLY names a file to which the number of cases is appended. A test that asks has the tag [long],
// by which long_mode.py finds it.
inline CaseNumbers case_numbers(int fast, int slow) {
  const int all = std::max(1, (std::getenv("GANGWAY_LONG") != nullptr ? slow : fast) / kOneIn);
  const char* const shard = std::getenv("GANGWAY_SHARD");
  const CaseNumbers numbers = shard != nullptr ? part_of(all, shard) : CaseNumbers(0, all);
  if (const char* tally = std::getenv("GANGWAY_TALLY"))
    std::ofstream(tally, std::ios::app) << numbers.size() << '\n';
  return numbers;
}

}  // namespace gangway::testing
