#include "models/metrics/run_meter.hpp"

#include <algorithm>

namespace gangway {

void RunMeter::reset() {
  for (auto& jobs : open_) jobs.clear();
  totals_ = {};
  evict_ordered_.reset();
}

void RunMeter::record(const Record& record) {
  const auto engine = static_cast<std::size_t>(record.direction);
  switch (record.mark) {
    case Mark::released: {
      JobResult job;
      job.id = record.job;
      job.arrival = record.time;
      job.standalone = {record.amount};
      open_[record.job.client.index].push_back(job);
      totals_.first_release = std::min(totals_.first_release, record.time);
      return;
    }
    case Mark::launch_ordered:
      ++current(record).launches;
      ++totals_.launches;
      evict_ordered_.reset();
      return;
    case Mark::started:
      began_ = record.time;
      if (!current(record).start) current(record).start = record.time;
      return;
    case Mark::evict_ordered:
      evict_ordered_ = record.time;
      return;
    case Mark::gone:
      return gone(record);
    case Mark::left:
      if (record.why != Why::evicted) return;
      ++current(record).evictions;
      ++totals_.evictions;
      totals_.eviction_delay += last_eviction_delay_;
      return;
    case Mark::copy_begins:
      copy_began_[engine] = record.time;
      return;
    case Mark::copy_ends:
      if (record.program_copy) current(record).copying += record.time - copy_began_[engine];
      return;
    case Mark::finished:
      return finish(record);
    case Mark::ended:
      for (auto& jobs : open_) {
        for (const JobResult& job : jobs) jobs_->job(job);
        totals_.unfinished += static_cast<std::int64_t>(jobs.size());
        jobs.clear();
      }
      return;
    case Mark::eligible:
    case Mark::submitted:
    case Mark::decided:
      return;
  }
}

void RunMeter::gone(const Record& record) {
  current(record).executing += record.time - began_;
  totals_.executing += record.time - began_;
  last_eviction_delay_ = evict_ordered_ ? record.time - *evict_ordered_ : Duration{};
}

void RunMeter::finish(const Record& record) {
  JobResult& job = current(record);
  job.finish = record.time;
  totals_.last_finish = std::max(totals_.last_finish, record.time);
  ++totals_.finished;
  jobs_->job(job);
  open_[record.job.client.index].pop_front();
}

}  // namespace gangway
