#include "models/metrics/service_meter.hpp"

#include <algorithm>

namespace gangway {
namespace {

constexpr Duration kTenth{100'000'000};
constexpr std::size_t kTenths = 10;    // of a window
constexpr double kLeastWithAJob = .9;  // of a window

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
  client.sums.lost = client.sums.lost || is_lost(result.outcome);
  if (!client.sums.slo) return;
  const bool late = result.age() > *client.sums.slo;
  if (result.finish)
    ++(late ? client.sums.missed : client.sums.met);
  else
    ++(late || is_lost(result.outcome) ? client.sums.missed : client.sums.undecided);
}

void ServiceMeter::Gpu::advance(Time now) {
  if (now <= since) return;
  if (clients > 0) even += static_cast<double>((now - since).ns) / static_cast<double>(clients);
  since = now;
}

void ServiceMeter::advance(Time now) {
  while (next_tenth_ && *next_tenth_ <= now) {
    advance_virtual_time(*next_tenth_);
    for (Gpu& gpu : gpus_) gpu.advance(*next_tenth_);
    end_tenth();
    next_tenth_ = *next_tenth_ + kTenth;
  }
  advance_virtual_time(now);
}

void ServiceMeter::end_tenth() {
  for (OfClient& client : clients_) {
    auto& tenths = client.run.tenths;
    tenths.push_back(sums_now(client));
    if (tenths.size() <= kTenths) continue;
    const Sums &begin = tenths.front(), &end = tenths.back();
    const double entitled = end.entitled - begin.entitled;
    const double window = static_cast<double>(kTenth.ns) * kTenths;
    if (end.with_a_job - begin.with_a_job >= kLeastWithAJob * window && entitled > 0) {
      const double share = (end.used - begin.used) / entitled;
      // A comparison with NaN is false.
      if (!(client.sums.share_in_1s_least <= share)) client.sums.share_in_1s_least = share;
      if (!(client.sums.share_in_1s_most >= share)) client.sums.share_in_1s_most = share;
    }
    tenths.pop_front();
  }
}

ServiceMeter::Sums ServiceMeter::sums_now(const OfClient& client) const {
  Sums sums = client.run.sums;
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (client.run.gpus[g].launches > 0) sums.used += gpus_[g].even - client.run.gpus[g].since;
  if (client.run.jobs > 0) {
    sums.entitled += client.sums.weight * (virtual_ - client.run.since);
    sums.with_a_job += static_cast<double>((now_ - client.run.came).ns);
  }
  return sums;
}

void ServiceMeter::advance_virtual_time(Time now) {
  if (now <= now_) return;
  if (with_jobs_ > 0)
    virtual_ += static_cast<double>(busy_) * static_cast<double>((now - now_).ns) / weights_;
  now_ = now;
}

void ServiceMeter::released(ClientId id, Time at) {
  advance(at);
  if (!next_tenth_) next_tenth_ = at;
  OfClient& client = of(id);
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
  client.run.sums.entitled += client.sums.weight * (virtual_ - client.run.since);
  client.run.sums.with_a_job += static_cast<double>((now_ - client.run.came).ns);
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
  client.run.sums.used += gpu.even - on.since;
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
    client.used += client.run.sums.used;
    client.entitled += client.run.sums.entitled;
    if (window > 0) {
      ServiceMetrics& sums = client.sums;
      sums.arrivals_per_s += static_cast<double>(client.run.arrivals) * 1e9 / window;
      sums.throughput_per_s += static_cast<double>(client.run.finished) * 1e9 / window;
      sums.gpu_time_ns += client.run.sums.used;
      sums.gpu_share += client.run.sums.used / window / static_cast<double>(gpus_.size());
      sums.queue_mean += client.run.in_system / window;
    }
    client.run = {};
    client.run.gpus.resize(gpus_.size());
  }
  gpus_.assign(gpus_.size(), {});
  virtual_ = weights_ = 0;
  busy_ = with_jobs_ = 0;
  now_ = {};
  next_tenth_.reset();
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
