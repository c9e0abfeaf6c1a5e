#include "models/metrics/service_meter.hpp"

#include <algorithm>

namespace gangway {

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
  if (now <= now_) return;
  if (with_jobs_ > 0)
    virtual_ += static_cast<double>(busy_) * static_cast<double>((now - now_).ns) / weights_;
  now_ = now;
}

void ServiceMeter::released(ClientId id, Time at) {
  advance(at);
  OfClient& client = of(id);
  ++client.run.arrivals;
  ++client.sums.released;
  if (client.run.jobs++ == 0) {
    client.run.since = virtual_;
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
