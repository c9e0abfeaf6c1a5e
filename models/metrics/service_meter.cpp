#include "models/metrics/service_meter.hpp"

#include <algorithm>
#include <numeric>

namespace gangway {
namespace {

constexpr Duration kTenth{100'000'000};
constexpr std::size_t kTenths = 10;    // of a window
constexpr double kLeastWithAJob = .9;  // of a window

Time tenth(Time origin, std::size_t number) {
  return origin + Duration{kTenth.ns * static_cast<std::int64_t>(number)};
}

}  // namespace

ServiceMeter::ServiceMeter(const std::vector<Client>& clients, std::int64_t gpus)
    : clients_(clients.size()), gpus_(static_cast<std::size_t>(gpus)) {
  for (std::size_t c = 0; c < clients.size(); ++c) {
    clients_[c].sums.slo = clients[c].slo;
    clients_[c].sums.weight = clients[c].weight;
    clients_[c].run.gpus.resize(gpus_.size());
  }
}

void ServiceMeter::job(const JobResult& result) {
  OfClient& client = of(result.id.client);
  client.run.in_system += static_cast<double>(result.age().ns);
  if (result.finish) ++client.run.finished;
  attribute(client, result);
  client.sums.lost = client.sums.lost || is_lost(result.outcome);
  if (!client.sums.slo) return;
  const bool late = result.age() > *client.sums.slo;
  if (result.finish)
    ++(late ? client.sums.missed : client.sums.met);
  else
    ++(late || is_lost(result.outcome) ? client.sums.missed : client.sums.undecided);
}

// To the tenths in which the client used the GPU for it. If its jobs come one after the other, that began
// when the one before had finished.
void ServiceMeter::attribute(OfClient& client, const JobResult& result) {
  OfRun& run = client.run;
  const auto released = run.used_at_release.find(result.id.number);
  if (released == run.used_at_release.end()) return;
  double from = released->second;
  run.used_at_release.erase(released);
  if (!result.finish) {
    if (result.start) {
      const std::int64_t before = (std::max(*result.start, *origin_) - *origin_).ns / kTenth.ns;
      run.known = std::min(run.known, static_cast<std::size_t>(before));
    }
    return;
  }
  advance(*result.finish);
  if (!result.start || run.latest_finish <= *result.start) from = std::max(from, run.used_at_finish);
  const double to = used(client, *result.finish);
  spread(client, from, to, static_cast<double>(result.standalone.ns));
  run.used_at_finish = to;
  run.latest_finish = *result.finish;
}

double ServiceMeter::Gpu::even_at(Time now) const {
  return now > since && clients > 0
             ? even + static_cast<double>((now - since).ns) / static_cast<double>(clients)
             : even;
}

void ServiceMeter::Gpu::advance(Time now) {
  if (now <= since) return;
  even = even_at(now);
  since = now;
}

void ServiceMeter::advance(Time now) {
  for (; origin_ && tenth(*origin_, tenths_) <= now; ++tenths_)
    for (OfClient& client : clients_) {
      client.run.used_until.push_back(used(client, tenth(*origin_, tenths_)));
      client.run.with_a_job_until.push_back(with_a_job(client, tenth(*origin_, tenths_)));
      client.run.progress.push_back(0);
    }
  if (now <= now_) return;
  if (with_jobs_ > 0)
    virtual_ += static_cast<double>(busy_) * static_cast<double>((now - now_).ns) / weights_;
  now_ = now;
}

double ServiceMeter::used(const OfClient& client, Time at) const {
  double used = client.run.used;
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (const OnGpu& on = client.run.gpus[g]; on.launches > 0) used += gpus_[g].even_at(at) - on.since;
  return used;
}

double ServiceMeter::with_a_job(const OfClient& client, Time at) const {
  return client.run.with_a_job + (client.run.jobs > 0 ? static_cast<double>((at - client.run.came).ns) : 0);
}

// A job for which the client has used the GPU from one of its sums to another.
void ServiceMeter::spread(OfClient& client, double from, double to, double standalone) {
  OfRun& run = client.run;
  if (run.progress.empty()) return;
  if (to <= from) {
    run.progress.back() += standalone;
    return;
  }
  double end = to;
  for (std::size_t t = run.progress.size(); t-- > 0 && end > from;) {
    const double begin = std::max(t > 0 ? run.used_until[t] : 0, from);
    if (begin >= end) continue;
    run.progress[t] += standalone * (end - begin) / (to - from);
    end = begin;
  }
}

void ServiceMeter::judge_seconds(OfClient& client) const {
  const OfRun& run = client.run;
  const double window = static_cast<double>(kTenth.ns) * kTenths;
  for (std::size_t begin = 0; begin + kTenths < run.used_until.size() && begin + kTenths <= run.known;
       ++begin) {
    if (run.with_a_job_until[begin + kTenths] - run.with_a_job_until[begin] < kLeastWithAJob * window)
      continue;
    const auto first = run.progress.begin() + static_cast<std::ptrdiff_t>(begin);
    const double speed = std::accumulate(first, first + kTenths, 0.0) / window;
    // A comparison with NaN is false.
    if (!(client.sums.speed_in_1s_least <= speed)) client.sums.speed_in_1s_least = speed;
    if (!(client.sums.speed_in_1s_most >= speed)) client.sums.speed_in_1s_most = speed;
  }
}

void ServiceMeter::released(JobId job, Time at) {
  advance(at);
  if (!origin_) origin_ = at;
  OfClient& client = of(job.client);
  client.run.used_at_release[job.number] = used(client, at);
  ++client.run.arrivals;
  ++client.sums.released;
  if (client.run.jobs++ == 0) {
    client.run.since = virtual_;
    client.run.came = now_;
    weights_ = with_jobs_++ > 0 ? weights_ + client.sums.weight : client.sums.weight;
  }
  client.sums.queue_max = std::max(client.sums.queue_max, client.run.jobs);
}

void ServiceMeter::over(ClientId id, Time at) {
  advance(at);
  if (--of(id).run.jobs == 0) settle(of(id));
}

// The client has no job any more.
void ServiceMeter::settle(OfClient& client) {
  client.run.entitled += client.sums.weight * (virtual_ - client.run.since);
  client.run.with_a_job += static_cast<double>((now_ - client.run.came).ns);
  weights_ -= client.sums.weight;
  --with_jobs_;
}

void ServiceMeter::on_gpu(ClientId id, DeviceId which, Time at) {
  advance(at);
  Gpu& gpu = gpus_[which.index];
  gpu.advance(at);
  OnGpu& on = of(id).run.gpus[which.index];
  if (on.launches++ > 0) return;
  on.since = gpu.even;
  if (gpu.clients++ == 0) ++busy_;
}

void ServiceMeter::off_gpu(ClientId id, DeviceId which, Time at) {
  advance(at);
  Gpu& gpu = gpus_[which.index];
  gpu.advance(at);
  OnGpu& on = of(id).run.gpus[which.index];
  if (--on.launches == 0) leave(of(id), on, gpu);
}

// Nothing of the client is on the GPU any more.
void ServiceMeter::leave(OfClient& client, OnGpu& on, Gpu& gpu) {
  client.run.used += gpu.even - on.since;
  if (--gpu.clients == 0) --busy_;
}

void ServiceMeter::run_over(const RunTotals& totals) {
  advance(totals.end);
  for (Gpu& gpu : gpus_) gpu.advance(totals.end);
  const auto window = static_cast<double>(totals.makespan().ns);
  for (OfClient& client : clients_) {
    for (std::size_t g = 0; g < gpus_.size(); ++g)
      if (client.run.gpus[g].launches > 0) leave(client, client.run.gpus[g], gpus_[g]);
    if (client.run.jobs > 0) settle(client);
    judge_seconds(client);
    client.used += client.run.used;
    client.entitled += client.run.entitled;
    if (window > 0) {
      ServiceMetrics& sums = client.sums;
      sums.arrivals_per_s += static_cast<double>(client.run.arrivals) * 1e9 / window;
      sums.throughput_per_s += static_cast<double>(client.run.finished) * 1e9 / window;
      sums.gpu_time_ns += client.run.used;
      sums.gpu_share += client.run.used / window / static_cast<double>(gpus_.size());
      sums.queue_mean += client.run.in_system / window;
    }
    client.run = {};
    client.run.gpus.resize(gpus_.size());
  }
  gpus_.assign(gpus_.size(), {});
  virtual_ = weights_ = 0;
  busy_ = with_jobs_ = 0;
  now_ = {};
  origin_.reset();
  tenths_ = 0;
  if (window > 0) ++windows_;
}

std::vector<ServiceMetrics> ServiceMeter::metrics() const {
  std::vector<ServiceMetrics> all;
  const auto windows = static_cast<double>(windows_);
  for (const OfClient& client : clients_) {
    ServiceMetrics& m = all.emplace_back(client.sums);
    for (double ServiceMetrics::*mean :
         {&ServiceMetrics::arrivals_per_s, &ServiceMetrics::throughput_per_s, &ServiceMetrics::gpu_time_ns,
          &ServiceMetrics::gpu_share, &ServiceMetrics::queue_mean})
      m.*mean /= windows;
    if (client.entitled > 0) m.share_against_weight = client.used / client.entitled;
  }
  return all;
}

}  // namespace gangway
