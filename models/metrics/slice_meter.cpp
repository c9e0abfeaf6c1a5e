#include "models/metrics/slice_meter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gangway {

void SliceMeter::reset() {
  std::fill(unfinished_.begin(), unfinished_.end(), 0);
  absent_ = unfinished_.size();
}

void SliceMeter::record(const Record& record) {
  std::int64_t& unfinished = unfinished_[record.job.client.index];
  if (record.mark == Mark::released && unfinished++ == 0) --absent_;
  if (record.mark == Mark::finished && --unfinished == 0) ++absent_;
  if (record.mark == Mark::launch_ordered && absent_ == 0) ++launches_[record.job.client.index];
}

std::vector<double> SliceMeter::shares() const {
  const auto all = static_cast<double>(std::accumulate(launches_.begin(), launches_.end(), std::int64_t{0}));
  std::vector<double> shares;
  for (const std::int64_t launches : launches_)
    shares.push_back(all > 0 ? static_cast<double>(launches) / all
                             : std::numeric_limits<double>::quiet_NaN());
  return shares;
}

}  // namespace gangway
