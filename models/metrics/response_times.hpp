// Percentiles of response times when some jobs did not finish.
#pragma once

#include <optional>

#include "models/metrics/statistics.hpp"

namespace gangway {

struct ResponsePercentile {
  Duration value;
  // Whether the value is independent of how long unfinished jobs would have taken; else it is a lower bound.
  bool exact = true;
};

class ResponseTimes {
 public:
  void add_finished(Duration response) { finished_.add(response); }
  // `age`: time since its release when last seen.
  void add_unfinished(Duration age) { unfinished_.add(age); }
  // Of a client that was killed or refused, or whose program ended: jobs that it would have had later never
  // come, so every percentile is a lower bound.
  void add_lost(Duration age) {
    add_unfinished(age);
    lost_ = true;
  }
  void add(const ResponseTimes& other);

  std::int64_t unfinished() const { return unfinished_.count(); }
  // Nearest rank over all jobs. An unfinished job counts with its age, which its response exceeds, so no
  // percentile is too large. None if there are no jobs.
  std::optional<ResponsePercentile> at(double share) const;
  // What it would be if unfinished jobs never finished; none if that is unbounded, or there are no jobs.
  std::optional<Duration> most(double share) const;
  // Whether percentiles are rounded down: there are more jobs than Percentiles::kExact.
  bool rounded() const { return jobs() > static_cast<std::int64_t>(Percentiles::kExact); }

 private:
  std::int64_t jobs() const { return finished_.count() + unfinished_.count(); }

  Percentiles finished_, unfinished_;
  bool lost_ = false;  // any of the latter
};

}  // namespace gangway
