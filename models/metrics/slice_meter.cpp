#include "models/metrics/slice_meter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gangway {

void SliceMeter::reset() {
  std::fill(unfinished_.begin(), unfinished_.end(), 0);
  absent_ = unfinished_.size();
  last_ = {};
}

void SliceMeter::record(const Record& record) {
  std::int64_t& unfinished = unfinished_[record.job.client.index];
  if (record.mark == Mark::released && unfinished++ == 0) --absent_;
  if (record.mark == Mark::finished && --unfinished == 0) ++absent_;
  if (record.mark != Mark::launch_ordered || absent_ > 0) return;
  ++launches_[record.job.client.index];
  std::optional<ClientId>& last = last_[record.gpu];
  if (last != record.job.client) ++turns_[record.job.client.index];
  last = record.job.client;
}

std::vector<SliceUse> SliceMeter::use() const {
  const std::int64_t all = std::accumulate(launches_.begin(), launches_.end(), std::int64_t{0});
  const auto ratio = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : std::numeric_limits<double>::quiet_NaN();
  };
  std::vector<SliceUse> use;
  for (std::size_t c = 0; c < launches_.size(); ++c)
    use.push_back({ratio(launches_[c], all), ratio(launches_[c], turns_[c])});
  return use;
}

}  // namespace gangway
