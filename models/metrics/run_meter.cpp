#include "models/metrics/run_meter.hpp"

#include <algorithm>

namespace gangway {

RunMeter::RunMeter(std::size_t clients, JobSink& jobs, std::int64_t gpus)
    : open_(clients), jobs_(&jobs), gpus_(static_cast<std::size_t>(gpus)), copying_(2 * clients) {
  totals_.gpus = gpus;
}

void RunMeter::reset() {
  for (auto& jobs : open_) jobs.clear();
  totals_ = {};
  totals_.gpus = static_cast<std::int64_t>(gpus_.size());
  gpus_.assign(gpus_.size(), {});
  copying_.assign(copying_.size(), {});
  on_device_.clear();
  evict_ordered_.reset();
}

void RunMeter::record(const Record& record) {
  const std::size_t copying =
      2 * std::size_t{record.job.client.index} + static_cast<std::size_t>(record.direction);
  switch (record.mark) {
    case Mark::released: {
      JobResult job;
      job.id = record.job;
      job.arrival = record.time;
      job.standalone = {record.amount};
      job.priority = record.priority;
      open_[record.job.client.index].push_back(job);
      totals_.first_release = std::min(totals_.first_release, record.time);
      return;
    }
    case Mark::launch_ordered:
      evict_ordered_.reset();
      return launched(record);
    case Mark::issued:
      if (!record.copy) launched(record);
      return;
    case Mark::started:
      return started(record);
    case Mark::evict_ordered:
      evict_ordered_ = {record.launch, record.time};
      return;
    case Mark::gone:
      return gone(record);
    case Mark::left:
      if (record.why != Why::evicted) return;
      ++job_of(record).evictions;
      job_of(record).eviction_delay += last_eviction_delay_;
      ++totals_.evictions;
      totals_.eviction_delay += last_eviction_delay_;
      return;
    case Mark::copy_begins:
      if (record.program_copy) copying_[copying].begin(record.time);
      return;
    case Mark::copy_ends:
      if (record.program_copy) job_of(record).copying += copying_[copying].end(record.time);
      return;
    case Mark::finished:
      return finish(record);
    case Mark::ended:
      for (auto& jobs : open_) {
        for (const JobResult& job : jobs) {
          if (job.outcome != Outcome::unfinished) continue;
          jobs_->job(job);
          ++totals_.unfinished;
        }
        jobs.clear();
      }
      return;
    case Mark::submitted:
      return launched(record);
    case Mark::killed:
      vanish(record);
      return over(record, Outcome::killed);
    case Mark::refused:
      return over(record, Outcome::out_of_resources);
    case Mark::eligible:
    case Mark::access:
    case Mark::queued:
    case Mark::held:
    case Mark::dequeued:
    case Mark::holds:
    case Mark::merged:
    case Mark::decided:
      return;
  }
}

void RunMeter::launched(const Record& record) {
  ++job_of(record).launches;
  ++totals_.launches;
}

void RunMeter::started(const Record& record) {
  gpus_[record.gpu].begin(record.time);
  on_device_.push_back({record.launch, record.time, record.job, record.gpu});
  if (!job_of(record).start) job_of(record).start = record.time;
}

void RunMeter::gone(const Record& record) {
  const auto launch = std::find_if(on_device_.begin(), on_device_.end(),
                                   [&](const Launch& l) { return l.id == record.launch; });
  if (launch == on_device_.end()) return;
  const Launch gone = *launch;
  on_device_.erase(launch);
  totals_.executing += gpus_[gone.gpu].end(record.time);
  const auto other =
      std::find_if(on_device_.begin(), on_device_.end(), [&](const Launch& l) { return l.job == gone.job; });
  if (other == on_device_.end())
    job_of(record).executing += record.time - gone.since;
  else  // it goes on, and has from then on
    other->since = std::min(other->since, gone.since);
  if (evict_ordered_ && evict_ordered_->id == record.launch)
    last_eviction_delay_ = record.time - evict_ordered_->since;
}

// What a killed job had on a GPU is not there any more, and nothing else says so.
void RunMeter::vanish(const Record& record) {
  std::erase_if(on_device_, [&](const Launch& launch) {
    if (launch.job != record.job) return false;
    totals_.executing += gpus_[launch.gpu].end(record.time);
    job_of(record).executing += record.time - launch.since;  // as it has one
    return true;
  });
}

void RunMeter::finish(const Record& record) {
  job_of(record).finish = record.time;
  totals_.last_finish = record.time;
  over(record, Outcome::finished);
}

void RunMeter::over(const Record& record, Outcome outcome) {
  JobResult& job = job_of(record);
  job.outcome = outcome;
  ++(outcome == Outcome::finished ? totals_.finished : totals_.unfinished);
  jobs_->job(job);
  auto& jobs = open_[record.job.client.index];
  while (!jobs.empty() && jobs.front().outcome != Outcome::unfinished) jobs.pop_front();
}

std::string name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::unfinished:
      return "unfinished";
    case Outcome::finished:
      return "finished";
    case Outcome::killed:
      return "killed";
    case Outcome::out_of_resources:
      return "out of resources";
  }
  return "";
}

}  // namespace gangway
