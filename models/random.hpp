// Named, seeded random streams. A stream is a pure function of seed, name and coordinates, so a job draws the
// same number whatever the policy, thread or earlier draws: common random numbers by construction.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gangway {

// SplitMix64 (Steele, Lea, Flood 2014) over a state hashed from (seed, name, coordinates).
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name, std::initializer_list<std::uint64_t> coordinates);

  std::uint64_t next();
  double uniform();                          // [0, 1)
  std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0
  double normal();                           // mean 0, sigma 1 (Box-Muller, one of the pair)
  double exponential();                      // mean 1

 private:
  std::uint64_t state_;
};

}  // namespace gangway
