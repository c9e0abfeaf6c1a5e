#include "experiments/studies/release_patterns.hpp"

#include <utility>

namespace gangway {

std::int64_t share_of(std::int64_t ticks, double share) {
  return static_cast<std::int64_t>(static_cast<double>(ticks) * share);
}

namespace {

std::int64_t at_zero(std::int64_t, Stream&) { return 0; }
std::int64_t anywhere(std::int64_t period, Stream& random) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(period)));
}
std::int64_t periodic(std::int64_t period, Stream&) { return period; }
std::int64_t sporadic(std::int64_t period, Stream& random) {
  return period + share_of(period, 0.5 * random.exponential());
}
// Ten or so without a pause, then a long one.
std::int64_t bursty(std::int64_t period, Stream& random) {
  return random.below(10) == 0 ? period + share_of(period, 5 * random.exponential()) : period;
}
std::int64_t nearly_periodic(std::int64_t period, Stream& random) {
  return period + share_of(period, 0.03 * random.uniform());
}

constexpr std::array kPatterns{
    ReleasePattern{"synchronous", false, at_zero, periodic},
    ReleasePattern{"synchronous, shorter blocks", true, at_zero, periodic},
    ReleasePattern{"offsets", false, anywhere, periodic},
    ReleasePattern{"offsets, shorter blocks", true, anywhere, periodic},
    ReleasePattern{"sporadic", false, anywhere, sporadic},
    ReleasePattern{"bursts", false, at_zero, bursty},
    ReleasePattern{"bursts, shorter blocks", true, anywhere, bursty},
    ReleasePattern{"nearly periodic", false, at_zero, nearly_periodic},
    ReleasePattern{"nearly periodic, shorter blocks", true, anywhere, nearly_periodic},
};

}  // namespace

const std::array<ReleasePattern, 9>& release_patterns() { return kPatterns; }

std::vector<Duration> releases_of(const ReleasePattern& pattern, std::int64_t period, std::int64_t horizon,
                                  Stream random) {
  std::vector<Duration> releases;
  for (std::int64_t t = pattern.first(period, random); t < horizon; t += pattern.gap(period, random))
    releases.push_back(Duration{t});
  return releases;
}

void shuffle(std::vector<std::uint32_t>& order, Stream& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

}  // namespace gangway
