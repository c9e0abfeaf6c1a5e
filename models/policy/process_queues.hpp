// Which of Share-a-GPU's processes runs on which GPU, and the order of those that request one (Garg et al.,
// II-D and II-E). Exact definition: sim/memory/README.md.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "models/parameters.hpp"
#include "models/policy.hpp"
#include "models/policy/shares.hpp"

namespace gangway {

class ProcessQueues {
 public:
  using Rank = std::tuple<std::int64_t, std::uint64_t>;
  struct Place {  // in a queue
    Rank rank;
    ClientId client;
    std::size_t share = 0;
    bool operator<(const Place& other) const { return rank < other.rank; }
  };
  struct Running {
    LaunchId launch;
    JobId job;
    std::uint32_t kernel = 0;
    BlockRange range;
    Time ordered;
    std::optional<Time> started = {};
  };
  struct Gpu {
    DeviceId id;
    std::optional<Running> running;
    std::vector<Place> queue;         // of this decision
    std::optional<ClientId> yielder;  // left in this instant with kernels remaining
  };

  explicit ProcessQueues(const ParameterValues& values)
      : by_priority_(values.choice("order") == "priority"),
        by_length_(values.choice("order") == "shortest-first") {}

  // Call before anything else.
  void prepare(std::size_t clients, std::uint32_t gpus) {
    processes_.resize(clients);
    for (std::uint32_t c = 0; c < clients; ++c) {
      processes_[c].job.client = ClientId{c};  // its memory may be there before its first job
      processes_[c].shares.reserve(gpus);
    }
    new_.reserve(2 * clients);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      gpus_.push_back({DeviceId{g}, {}, {}, {}});
      gpus_.back().queue.reserve(clients);
    }
  }

  std::vector<Process>& processes() { return processes_; }  // by client
  const std::vector<Process>& processes() const { return processes_; }
  std::vector<Gpu>& gpus() { return gpus_; }
  const std::vector<Gpu>& gpus() const { return gpus_; }
  Process& process(ClientId client) { return processes_[client.index]; }
  const Process& process(ClientId client) const { return processes_[client.index]; }
  Gpu& gpu(DeviceId id) { return gpus_[id.index]; }
  const Gpu& gpu(DeviceId id) const { return gpus_[id.index]; }
  Share& share_of(const Place& place) { return process(place.client).shares[place.share]; }
  const Share& share_of(const Place& place) const { return process(place.client).shares[place.share]; }

  // The share requests a GPU from now on, after all that already do.
  void request(Process& process, Share& share) {
    share.state = Share::State::requests;
    share.since = ++requests_;
    new_.push_back(process.job.client);
  }

  // Puts all requests in order, each on its GPU or the best one. A queue keeps its order apart from leavers
  // and newcomers.
  void line_up(const View& view) {
    if (gpus_.size() > 1) return line_up_anew(view);
    std::vector<Place>& queue = gpus_[0].queue;
    for (const ClientId client : new_) {
      const Place place{rank(process(client), process(client).shares[0], view), client};
      queue.insert(std::upper_bound(queue.begin(), queue.end(), place), place);
    }
    new_.clear();
  }

  // The process's last share requests this GPU, last in its queue until the next line_up().
  void append(ClientId client, DeviceId id, const View& view) {
    Process& wants = process(client);
    request(wants, wants.shares.back());
    gpu(id).queue.push_back({rank(wants, wants.shares.back(), view), client, wants.shares.size() - 1});
  }
  void leave(ClientId client, DeviceId id) {
    std::erase_if(gpu(id).queue, [&](const Place& place) { return place.client == client; });
  }
  // The client has gone, or has nothing more to run.
  void forget(ClientId client) {
    std::erase(new_, client);
    for (Gpu& each : gpus_) leave(client, each.id);
    process(client).shares.clear();
    process(client).present = false;
  }
  bool waits_for(ClientId client, DeviceId id) const {
    const std::vector<Place>& queue = gpu(id).queue;
    return std::any_of(queue.begin(), queue.end(),
                       [&](const Place& place) { return place.client == client; });
  }
  bool runs_on(ClientId client, DeviceId id) const {
    return gpu(id).running && gpu(id).running->job.client == client;
  }

  // Orders saving the client's state there. Its share that requests this GPU then requests again, at the end
  // and for any GPU.
  void save(ClientId client, DeviceId id, Orders& orders) {
    for (const Place& place : gpu(id).queue) {
      if (place.client != client) continue;
      share_of(place).state = Share::State::saves;
      share_of(place).gpu = id;
    }
    leave(client, id);
    orders.save(process(client).job, id);
  }

  // Saves what other GPUs have changed to the host first.
  void fetch(ClientId client, DeviceId to, BlockRange blocks, const View& view, Orders& orders) {
    const JobId job = process(client).job;
    for (const Gpu& from : gpus_)
      if (from.id != to && !runs_on(client, from.id) && view.memory().changed_on(job, from.id, blocks) &&
          view.memory().residence(client, from.id) == Residence::resident)
        save(client, from.id, orders);
  }

 private:
  Rank rank(const Process& process, const Share& share, const View& view) const {
    const JobFacts& job = view.job(process.job);
    std::int64_t first = 0;
    if (by_priority_) first = -std::int64_t{job.urgency()};
    if (by_length_ && job.kernels.size() == 0)
      first = (job.work.alone.value_or(Duration{}) - job.work.served).ns;
    if (by_length_ && job.kernels.size() != 0) first = declared_left(job).ns;
    return {first, share.since};
  }

  void line_up_anew(const View& view) {
    new_.clear();
    places_.clear();
    for (std::uint32_t c = 0; c < processes_.size(); ++c) {
      const Process& process = processes_[c];
      for (std::size_t s = 0; s < process.shares.size(); ++s)
        if (process.shares[s].state == Share::State::requests)
          places_.push_back({rank(process, process.shares[s], view), ClientId{c}, s});
    }
    std::sort(places_.begin(), places_.end());
    for (Gpu& gpu : gpus_) gpu.queue.clear();
    for (const Place& place : places_) gpu(best_gpu(place, view)).queue.push_back(place);
  }

  // Where the state is; else where there is room, the shortest queue, and a free GPU or the one whose owner
  // came first.
  DeviceId best_gpu(const Place& place, const View& view) const {
    if (share_of(place).gpu) return *share_of(place).gpu;
    const JobId job = process(place.client).job;
    const auto cost = [&](const Gpu& gpu) {
      const Residence residence = view.memory().residence(place.client, gpu.id);
      const bool there = residence == Residence::resident || residence == Residence::restoring;
      return std::tuple(!there, view.memory().takes(job, gpu.id, kAllBlocks) > view.memory().room(gpu.id),
                        gpu.queue.size(), gpu.running.has_value(),
                        gpu.running ? gpu.running->ordered : Time{});
    };
    const auto best = std::min_element(gpus_.begin(), gpus_.end(),
                                       [&](const Gpu& a, const Gpu& b) { return cost(a) < cost(b); });
    return best->id;
  }

  bool by_priority_, by_length_;
  std::vector<Process> processes_;
  std::vector<Gpu> gpus_;
  std::vector<Place> places_;
  std::vector<ClientId> new_;  // requesting since the last line_up()
  std::uint64_t requests_ = 0;
};

}  // namespace gangway
