// How many cases a test plays.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace gangway::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Sanitizers look at code, not at results, and make it some ten times slower: with them, of many cases one in
// this many is played. It is prime, so that nested loops do not skip the same values each time.
inline constexpr int kOneIn = kSanitized ? 11 : 1;

// How many random cases: `fast`, or `slow` where GANGWAY_LONG is set, of which one in kOneIn; at least one.
inline int cases(int fast, int slow) {
  return std::max(1, (std::getenv("GANGWAY_LONG") != nullptr ? slow : fast) / kOneIn);
}

}  // namespace gangway::testing
