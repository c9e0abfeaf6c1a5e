// Response times of jobs of which some may not have finished.
#pragma once

#include <optional>

#include "models/metrics/statistics.hpp"

namespace gangway {

struct ResponsePercentile {
  Duration value;
  // Whether it is the same however long the unfinished jobs would have taken; else it is a lower bound.
  bool exact = true;
};

class ResponseTimes {
 public:
  void add_finished(Duration response) { finished_.add(response); }
  // `age`: how long ago it was released when it was seen last.
  void add_unfinished(Duration age) { unfinished_.add(age); }
  void add(const ResponseTimes& other);

  std::int64_t unfinished() const { return unfinished_.count(); }
  // Nearest rank over all jobs, where an unfinished one counts with its age, which its response would have
  // exceeded: so no percentile is too large. None where there are no jobs.
  std::optional<ResponsePercentile> at(double share) const;

 private:
  Percentiles finished_, unfinished_;
};

}  // namespace gangway
