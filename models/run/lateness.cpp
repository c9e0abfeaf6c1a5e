#include "models/run/lateness.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gangway {

// Exact below 2^(kFine + 1), then 2^kFine buckets for each doubling.
std::size_t Lateness::bucket_of(std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(ns);
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kFine + 1) return value;
  const unsigned shift = width - kFine - 1;
  return std::min(kBuckets - 1, (std::size_t{shift} << kFine) + static_cast<std::size_t>(value >> shift));
}

std::int64_t Lateness::end_of(std::size_t bucket) {
  if (bucket < std::size_t{2} << kFine) return static_cast<std::int64_t>(bucket);
  const unsigned shift = static_cast<unsigned>(bucket >> kFine) - 1;
  const std::uint64_t top = (bucket & ((1u << kFine) - 1)) + (1u << kFine);
  return static_cast<std::int64_t>(((top + 1) << shift) - 1);
}

void Lateness::add(Duration late) {
  late = std::max(late, Duration{});
  ++counts_[bucket_of(late.ns)];
  ++count_;
  most_ = std::max(most_, late);
}

void Lateness::add_thread(Duration span, Duration off_cpu) {
  span_ += span;
  off_cpu_ += std::clamp(off_cpu, Duration{}, std::max(span, Duration{}));
}

void Lateness::add(const Lateness& other) {
  for (std::size_t b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
  count_ += other.count_;
  most_ = std::max(most_, other.most_);
  span_ += other.span_;
  off_cpu_ += other.off_cpu_;
}

Duration Lateness::at(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t sum = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    sum += counts_[b];
    if (sum >= wanted && sum > 0) return std::min(most_, Duration{end_of(b)});
  }
  return {};
}

double Lateness::off_cpu() const {
  return span_ > Duration{} ? static_cast<double>(off_cpu_.ns) / static_cast<double>(span_.ns) : 0;
}

}  // namespace gangway
