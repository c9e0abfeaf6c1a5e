#include "models/metrics/run_meter.hpp"

#include <algorithm>
#include <utility>

namespace gangway {

RunMeter::RunMeter(std::size_t clients, JobSink& jobs, std::int64_t gpus)
    : open_(clients), jobs_(&jobs), gpus_(static_cast<std::size_t>(gpus)) {
  totals_.gpus = gpus;
}

void RunMeter::reset() {
  for (auto& jobs : open_) jobs.clear();
  totals_ = {};
  totals_.gpus = static_cast<std::int64_t>(gpus_.size());
  gpus_.assign(gpus_.size(), {});
  launches_.clear();
}

void RunMeter::record(const Record& record) {
  switch (record.mark) {
    case Mark::released:
      return released(record);
    case Mark::launch_ordered:
      gpus_[record.gpu].eviction.reset();
      return launched(record);
    case Mark::issued:
      if (!record.copy) launched(record);
      return;
    case Mark::submitted:
      return launched(record);
    case Mark::started:
      return started(record);
    case Mark::paused:
      return changed(record, false);
    case Mark::resumed:
      return changed(record, true);
    case Mark::evict_ordered:
      evict_ordered(record);
      return;
    case Mark::gone:
      return gone(record);
    case Mark::left:
      if (record.why == Why::evicted) evicted(record);
      return;
    case Mark::copy_begins:
      return copies(record, 1);
    case Mark::copy_ends:
      return copies(record, -1);
    case Mark::finished:
      job_of(record).finish = record.time;
      return over(record, Outcome::finished);
    case Mark::killed:
      vanish(record);
      return over(record, Outcome::killed);
    case Mark::refused:
      return over(record, Outcome::out_of_resources);
    case Mark::program_ended:
      vanish(record);
      return over(record, Outcome::program_ended);
    case Mark::ended:
      return ended(record.time);
    case Mark::eligible:
    case Mark::access:
    case Mark::queued:
    case Mark::held:
    case Mark::dequeued:
    case Mark::holds:
    case Mark::merged:
    case Mark::told_to_leave:
    case Mark::kernels_left:
    case Mark::kernels_go_on:
    case Mark::on_host:
    case Mark::awaits_gpu:
    case Mark::decided:
      return;
  }
}

void RunMeter::released(const Record& record) {
  Open job;
  job.result.id = record.job;
  job.result.arrival = job.since = record.time;
  job.result.standalone = {std::max<std::int64_t>(record.amount, 1)};  // times are divided by it
  job.result.priority = record.priority;
  open_[record.job.client.index].push_back(job);
  totals_.first_release = std::min(totals_.first_release, record.time);
  if (observer_ != nullptr) observer_->released(record.job, record.time);
}

void RunMeter::launched(const Record& record) {
  ++job_of(record).launches;
  ++totals_.launches;
}

void RunMeter::started(const Record& record) {
  launches_.push_back({record.launch, record.job, record.gpu});
  const auto& eviction = gpus_[record.gpu].eviction;
  if (eviction && eviction->launch == record.launch) launches_.back().evict_ordered = eviction->ordered;
  arrive(launches_.back(), record.time);
  if (!job_of(record).start) job_of(record).start = record.time;
}

// A launch's blocks have all left, with more to come, or some are there again.
void RunMeter::changed(const Record& record, bool on_device) {
  for (Launch& launch : launches_)
    if (launch.id == record.launch) on_device ? arrive(launch, record.time) : depart(launch, record.time);
}

void RunMeter::gone(const Record& record) {
  const auto launch = std::find_if(launches_.begin(), launches_.end(),
                                   [&](const Launch& l) { return l.id == record.launch; });
  if (launch == launches_.end()) return;
  depart(*launch, record.time);
  const Launch left = *launch;
  launches_.erase(launch);
  if (!left.evict_ordered) return;
  const Duration delay = record.time - *left.evict_ordered;
  auto& eviction = gpus_[record.gpu].eviction;
  if (left.reported)
    add_delay(record.job, delay);
  else if (eviction && eviction->launch == left.id)
    eviction->delay = delay;
}

void RunMeter::evict_ordered(const Record& record) {
  gpus_[record.gpu].eviction = {record.launch, record.time};
  for (Launch& launch : launches_)
    if (launch.id == record.launch) launch.evict_ordered = record.time;
}

// Of a launch that never had a block the delay is 0; of one whose blocks are still there it comes later.
void RunMeter::evicted(const Record& record) {
  Gpu& gpu = gpus_[record.gpu];
  ++job_of(record).evictions;
  ++gpu.evictions;
  ++totals_.evictions;
  if (gpu.eviction && gpu.eviction->launch == record.launch && gpu.eviction->delay)
    return add_delay(record.job, *gpu.eviction->delay);
  for (Launch& launch : launches_)
    if (launch.id == record.launch) launch.reported = true;
}

void RunMeter::add_delay(JobId job, Duration delay) {
  open(job).result.eviction_delay += delay;
  totals_.eviction_delay += delay;
}

void RunMeter::copies(const Record& record, int change) {
  if (!record.program_copy) return;
  Open& job = open(record.job);
  job.account(record.time);
  job.copies += change;
}

// Time is a job's for one thing: with blocks on a GPU and a copy under way it executes.
void RunMeter::Open::account(Time now) {
  if (launches > 0)
    result.executing += now - since;
  else if (copies > 0)
    result.copying += now - since;
  since = now;
}

void RunMeter::arrive(Launch& launch, Time now) {
  if (std::exchange(launch.on_device, true)) return;
  open(launch.job).account(now);
  ++open(launch.job).launches;
  Gpu& gpu = gpus_[launch.gpu];
  if (gpu.launches++ == 0) gpu.since = now;
  if (observer_ != nullptr) observer_->on_gpu(launch.job.client, {launch.gpu}, now);
}

void RunMeter::depart(Launch& launch, Time now) {
  if (!std::exchange(launch.on_device, false)) return;
  open(launch.job).account(now);
  --open(launch.job).launches;
  Gpu& gpu = gpus_[launch.gpu];
  if (--gpu.launches == 0) totals_.executing += now - gpu.since;
  if (observer_ != nullptr) observer_->off_gpu(launch.job.client, {launch.gpu}, now);
}

// What a job had on a GPU whose client was killed, or whose program ended, is not there any more, and nothing
// else says so.
void RunMeter::vanish(const Record& record) {
  std::erase_if(launches_, [&](Launch& launch) {
    if (launch.job != record.job) return false;
    depart(launch, record.time);
    return true;
  });
}

void RunMeter::over(const Record& record, Outcome outcome) {
  Open& job = open(record.job);
  job.account(record.time);
  job.result.over = totals_.end = record.time;
  job.result.outcome = outcome;
  ++(outcome == Outcome::finished ? totals_.finished : totals_.unfinished);
  jobs_->job(job.result);
  if (observer_ != nullptr) observer_->over(record.job.client, record.time);
  auto& jobs = open_[record.job.client.index];
  while (!jobs.empty() && jobs.front().result.outcome != Outcome::unfinished) jobs.pop_front();
}

void RunMeter::ended(Time now) {
  for (auto& jobs : open_)
    for (Open& job : jobs) {
      if (job.result.outcome != Outcome::unfinished) continue;
      job.account(now);
      job.result.over = totals_.end = now;
      jobs_->job(job.result);
      ++totals_.unfinished;
    }
  for (Gpu& gpu : gpus_)
    if (std::exchange(gpu.launches, 0) > 0)
      totals_.executing += totals_.end - std::min(gpu.since, totals_.end);
  launches_.clear();
  for (auto& jobs : open_) jobs.clear();
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
    case Outcome::program_ended:
      return "program ended";
  }
  return "";
}

}  // namespace gangway
