#include "models/metrics/response_times.hpp"

namespace gangway {

void ResponseTimes::add(const ResponseTimes& other) {
  finished_.add(other.finished_);
  unfinished_.add(other.unfinished_);
}

std::optional<ResponsePercentile> ResponseTimes::at(double share) const {
  const std::int64_t jobs = finished_.count() + unfinished_.count();
  if (jobs == 0) return std::nullopt;
  const std::int64_t rank = rank_of(share, jobs);
  const auto most = rank <= finished_.count() ? std::optional(finished_.at_rank(rank)) : std::nullopt;
  if (unfinished_.count() == 0) return ResponsePercentile{*most, true, most};
  Percentiles all = finished_;
  all.add(unfinished_);
  const Duration least = all.at_rank(rank);
  return ResponsePercentile{least, most && all.same(*most, least), most};
}

}  // namespace gangway
