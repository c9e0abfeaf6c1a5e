// Splitting kernels of Share-a-GPU's processes over several GPUs (Garg et al., IV-A): with fewer processes
// than GPUs, a process may use several if that pays. Exact definition: sim/memory/README.md.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "models/policy/process_queues.hpp"

namespace gangway {

class KernelSplits {
 public:
  explicit KernelSplits(ProcessQueues& queues) : queues_(&queues) {}

  // Each process may use an equal share of the GPUs. GPUs that no other process uses join its kernel.
  void split(const View& view, Orders& orders) {
    const auto all = static_cast<std::int64_t>(queues_->gpus().size());
    const auto& processes = queues_->processes();
    const std::int64_t present = std::count_if(processes.begin(), processes.end(),
                                               [](const Process& process) { return process.present; });
    std::int64_t number = 0;
    for (std::uint32_t c = 0; c < processes.size(); ++c) {
      Process& process = queues_->process(ClientId{c});
      if (!process.present) continue;
      process.gpus = std::max<std::int64_t>(1, all / present + (number++ < all % present ? 1 : 0));
      if (process.gpus > 1 && !process.shares.empty()) widen(ClientId{c}, view, orders);
    }
  }

  // Whether others could use some of its GPUs; GPUs it is already leaving do not count.
  bool has_too_many(ClientId client, const View& view) const {
    return queues_->gpus().size() > 1 &&
           gpus_in({Residence::restoring, Residence::resident}, client, view) > queues_->process(client).gpus;
  }

 private:
  std::int64_t gpus_in(std::initializer_list<Residence> states, ClientId client, const View& view) const {
    std::int64_t gpus = 0;
    for (const auto& gpu : queues_->gpus())
      gpus += std::count(states.begin(), states.end(), view.memory().residence(client, gpu.id));
    return gpus;
  }
  std::int64_t uses(ClientId client, const View& view) const {
    return gpus_in({Residence::restoring, Residence::resident, Residence::saving}, client, view);
  }

  void widen(ClientId client, const View& view, Orders& orders) {
    const std::vector<DeviceId> joining = idle_for(client, view);
    for (std::size_t i = 0; i < joining.size(); ++i)
      if (!join(client, joining[i], joining.size() - i, view, orders)) return;
  }

  // GPUs that no one else has a use for and that the process itself does not use now.
  std::vector<DeviceId> idle_for(ClientId client, const View& view) const {
    std::int64_t more = queues_->process(client).gpus - std::max<std::int64_t>(1, uses(client, view));
    std::vector<DeviceId> idle;
    for (const auto& gpu : queues_->gpus()) {
      if (gpu.running || !gpu.queue.empty() || used_by_others(client, gpu.id, view)) continue;
      const Residence residence = view.memory().residence(client, gpu.id);
      if (residence == Residence::saving) continue;
      if (residence == Residence::absent && more-- <= 0) continue;
      idle.push_back(gpu.id);
    }
    return idle;
  }

  bool used_by_others(ClientId client, DeviceId id, const View& view) const {
    for (std::uint32_t c = 0; c < queues_->processes().size(); ++c)
      if (c != client.index && view.memory().residence(ClientId{c}, id) != Residence::absent) return true;
    return false;
  }

  // Returns whether the GPU joined the kernel.
  bool join(ClientId client, DeviceId id, std::size_t joining, const View& view, Orders& orders) {
    Process& process = queues_->process(client);
    if (process.on(id) != nullptr) return false;
    const MemoryView& memory = view.memory();
    const BlockRange part = process.part_for(joining, view.job(process.job).current());
    if (part.empty() || memory.takes(process.job, id, part) > memory.room(id)) return false;
    const bool stale = memory.changed_elsewhere(process.job, id, part);
    if (!pays(process, id, part, stale, view)) return false;
    if (stale) {  // between two kernels the whole state can go to the host first
      if (!process.runs()) queues_->fetch(client, id, kAllBlocks, view, orders);
      return false;
    }
    bind(client);
    process.take(part);
    process.split = true;
    process.shares.push_back({part, id});
    queues_->append(client, id, view);
    return true;
  }

  // Keeps shares of a kernel apart: a share that could go anywhere goes to the GPU in whose queue it is.
  void bind(ClientId client) {
    for (const auto& gpu : queues_->gpus())
      for (const auto& place : gpu.queue)
        if (place.client == client) queues_->share_of(place).gpu = gpu.id;
  }

  // Whether the program gains more from one more GPU than the required moves cost.
  static bool pays(const Process& process, DeviceId id, BlockRange part, bool stale, const View& view) {
    const JobFacts& job = view.job(process.job);
    const MemoryView& memory = view.memory();
    const Duration left = process.later + declared_left(job);
    const auto gpus = static_cast<std::int64_t>(process.shares.size());
    const Duration gain{left.ns / (gpus * (gpus + 1))};
    Bytes moved = memory.copies(job.id, id, part);
    if (stale) moved += memory.takes(job.id, id, kAllBlocks);
    const auto kernels = static_cast<std::int64_t>(job.kernels.size() - job.kernel);
    const Duration merges{
        mul_div_floor(memory.copy_time(memory.merged(job.id.client)).ns, 2 * (gpus + 1) * kernels, 1)};
    return gain > memory.copy_time(moved) + merges;
  }

  ProcessQueues* queues_;
};

}  // namespace gangway
