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
  if (unfinished_.count() == 0) return ResponsePercentile{finished_.at_rank(rank)};
  Percentiles all = finished_;
  all.add(unfinished_);
  const Duration least = all.at_rank(rank);
  // At most, all unfinished jobs take longer than any that finished.
  return ResponsePercentile{least, rank <= finished_.count() && all.same(finished_.at_rank(rank), least)};
}

}  // namespace gangway
