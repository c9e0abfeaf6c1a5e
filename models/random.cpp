#include "models/random.hpp"

#include <cmath>
#include <numbers>

namespace gangway {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view name, std::initializer_list<std::uint64_t> coordinates)
    : state_(mix(seed + kGolden)) {
  for (char c : name) state_ = mix(state_ ^ (static_cast<unsigned char>(c) + kGolden));
  for (std::uint64_t coordinate : coordinates) state_ = mix(state_ + kGolden * (coordinate + 1)) + kGolden;
}

std::uint64_t Stream::next() { return mix(state_ += kGolden); }

double Stream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t Stream::below(std::uint64_t bound) {
  // Rejecting the few values that would favour small results keeps every result equally likely.
  const std::uint64_t unfair = -bound % bound;
  for (;;)
    if (const std::uint64_t value = next(); value >= unfair) return value % bound;
}

double Stream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Stream::exponential() { return -std::log(1 - uniform()); }

}  // namespace gangway
