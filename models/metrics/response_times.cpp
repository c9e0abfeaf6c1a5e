#include "models/metrics/response_times.hpp"

namespace gangway {

void ResponseTimes::add(const ResponseTimes& other) {
  finished_.add(other.finished_);
  unfinished_.add(other.unfinished_);
  lost_ = lost_ || other.lost_;
}

std::optional<ResponsePercentile> ResponseTimes::at(double share) const {
  if (jobs() == 0) return std::nullopt;
  const std::optional<Duration> most = this->most(share);
  if (unfinished_.count() == 0) return ResponsePercentile{*most};
  Percentiles all = finished_;
  all.add(unfinished_);
  const Duration least = all.at(share);
  return ResponsePercentile{least, most && all.same(*most, least)};
}

std::optional<Duration> ResponseTimes::most(double share) const {
  if (lost_) return std::nullopt;
  const std::int64_t rank = rank_of(share, jobs());
  return rank <= finished_.count() ? std::optional(finished_.at_rank(rank)) : std::nullopt;
}

}  // namespace gangway
