#include "models/run/request_times.hpp"

#include <algorithm>
#include <cmath>

#include "models/arrival_process.hpp"

namespace gangway {
namespace {

constexpr double kLatest = 4e18;  // ns: behind the end of every world's clock

}  // namespace

Time RequestTimes::next() {
  if (arrivals_->times) return begin_ + (*arrivals_->times)[listed_++];
  gaps_ += arrivals_->process->gap(random_);
  // From the sum, so that roundings do not add up.
  const double ns = std::min(gaps_ * 1e9 / arrivals_->rate.per_second, kLatest);
  return begin_ + Duration{std::llround(ns)};
}

}  // namespace gangway
