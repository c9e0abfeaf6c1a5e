#include "models/metrics/statistics.hpp"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/students_t.hpp>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <cmath>
#include <numeric>

namespace gangway {
namespace {

constexpr int kFineBits = 10;

// Values below 2^10 have a bucket each; above, 2^10 buckets per power of two.
std::size_t bucket_of(std::int64_t value) {
  const auto v = static_cast<std::uint64_t>(value);
  if (v < (1u << kFineBits)) return v;
  const int exponent = static_cast<int>(std::bit_width(v)) - 1 - kFineBits;
  return (static_cast<std::size_t>(exponent) << kFineBits) + (v >> exponent);
}

std::int64_t lower_end(std::size_t bucket) {
  if (bucket < (2u << kFineBits)) return static_cast<std::int64_t>(bucket);
  const std::size_t exponent = (bucket >> kFineBits) - 1;
  return static_cast<std::int64_t>(((bucket & ((1u << kFineBits) - 1)) + (1u << kFineBits)) << exponent);
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values, bool sample) {
  const double centre = mean(values);
  double squares = 0;
  for (double v : values) squares += (v - centre) * (v - centre);
  const double n = static_cast<double>(values.size()) - (sample ? 1 : 0);
  return n > 0 ? std::sqrt(squares / n) : 0;
}

double jain(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

double student_t_975(double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.975);
}

std::optional<double> half_width_95(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double n = static_cast<double>(values.size());
  return student_t_975(n - 1) * deviation(values, true) / std::sqrt(n);
}

ShareInterval wilson_95(std::int64_t hits, std::int64_t n) {
  constexpr double kZ = 1.959963984540054;  // the 97.5% quantile of the normal distribution
  const auto total = static_cast<double>(n);
  const double share = static_cast<double>(hits) / total;
  const double scale = 1 + kZ * kZ / total;
  const double middle = (share + kZ * kZ / (2 * total)) / scale;
  const double half = kZ * std::sqrt(share * (1 - share) / total + kZ * kZ / (4 * total * total)) / scale;
  return {hits == 0 ? 0 : middle - half, hits == n ? 1 : middle + half};
}

void Percentiles::add(Duration value) {
  ++count_;
  if (!buckets_.empty()) return count(value.ns, 1);
  values_.push_back(value.ns);
  sorted_ = false;
  if (values_.size() > kExact) spread();
}

void Percentiles::add(const Percentiles& other) {
  for (std::int64_t value : other.values_) add(Duration{value});
  if (other.buckets_.empty()) return;
  spread();
  count_ += other.count_;
  for (std::size_t b = 0; b < other.buckets_.size(); ++b)
    if (other.buckets_[b] > 0) count(lower_end(b), other.buckets_[b]);
}

bool Percentiles::same(Duration a, Duration b) const {
  return a == b || (rounded() && bucket_of(a.ns) == bucket_of(b.ns));
}

void Percentiles::spread() {
  for (std::int64_t value : values_) count(value, 1);
  values_ = {};
}

void Percentiles::count(std::int64_t value, std::int64_t times) {
  const std::size_t bucket = bucket_of(value);
  if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
  buckets_[bucket] += times;
}

std::int64_t rank_of(double share, std::int64_t count) {
  const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count)));
  return std::clamp<std::int64_t>(rank, 1, std::max<std::int64_t>(count, 1));
}

Duration Percentiles::at_rank(std::int64_t rank) const {
  if (rank < 1 || rank > count_) return {};
  if (buckets_.empty()) {
    if (!sorted_) boost::sort::spreadsort::integer_sort(values_.begin(), values_.end());
    sorted_ = true;
    return {values_[static_cast<std::size_t>(rank - 1)]};
  }
  std::size_t bucket = 0;
  for (std::int64_t seen = buckets_[0]; seen < rank;) seen += buckets_[++bucket];
  return {lower_end(bucket)};
}

}  // namespace gangway
