// Share-a-GPU's record of a process (its kernel control block; Garg et al., II-D and IV-A): the shares of its
// current kernel that GPUs hold or wait for. An unsplit kernel is one share.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "models/policy/slices.hpp"

namespace gangway {

struct Share {
  enum class State { requests, runs, saves };  // saves: and requests again afterwards

  BlockRange rest;              // not yet launched
  std::optional<DeviceId> gpu;  // required GPU; none: any
  State state = State::requests;
  std::uint64_t since = 0;  // sequence number of its request
};

// Declared time of the undone part of the current kernel when it last left a GPU; none counts as 0.
inline Duration declared_left(const JobFacts& job) {
  const KernelFacts& kernel = job.current();
  const Duration declared = kernel.declared.value_or(Duration{});
  return {mul_div_floor((kernel.block_tasks - job.done).count, declared.ns, kernel.block_tasks.count)};
}

inline Duration declared_total(const JobFacts& job) {
  Duration sum;
  for (const KernelFacts& kernel : job.kernels) sum += kernel.declared.value_or(Duration{});
  return sum;
}

struct Process {
  JobId job;
  bool present = false;  // its job has kernels left
  bool split = false;    // its kernel is split: a GPU needs only the memory of its share
  std::vector<Share> shares;
  std::vector<BlockRange> spare;  // parts of the kernel returned by GPUs
  Duration later;                 // declared time of later kernels
  std::int64_t gpus = 1;          // number it may use

  // The share bound to this GPU, or null.
  Share* on(DeviceId gpu) {
    const auto share =
        std::find_if(shares.begin(), shares.end(), [&](const Share& s) { return s.gpu == gpu; });
    return share == shares.end() ? nullptr : &*share;
  }
  bool runs() const {
    return std::any_of(shares.begin(), shares.end(),
                       [](const Share& s) { return s.state == Share::State::runs; });
  }

  // A part for one of `joining` GPUs: a spare part, or an even part from the end of the largest share, in
  // whole waves. Empty if there is none.
  BlockRange part_for(std::size_t joining, const KernelFacts& kernel) const {
    if (!spare.empty()) return spare.back();
    const Share* share = largest();
    if (share == nullptr) return {};
    const std::int64_t waves = waves_of(kernel, share->rest.size());
    const std::int64_t keeps = share->state == Share::State::requests ? 1 : 0;
    const std::int64_t part =
        std::min(waves - keeps, std::max<std::int64_t>(1, waves / (static_cast<std::int64_t>(joining) + 1)));
    if (part < 1) return {};
    const BlockCount wave = whole_waves(kernel, 1);
    return {{share->rest.first.count + (waves - part) * wave.count}, share->rest.last};
  }
  // Removes it from where part_for() found it.
  void take(BlockRange part) {
    if (!spare.empty())
      spare.pop_back();
    else
      largest()->rest.last = part.first;
  }

 private:
  Share* largest() { return const_cast<Share*>(static_cast<const Process&>(*this).largest()); }
  const Share* largest() const {
    const Share* most = nullptr;
    for (const Share& share : shares)
      if (share.state != Share::State::saves && !share.rest.empty() &&
          (most == nullptr || share.rest.size() > most->rest.size()))
        most = &share;
    return most;
  }
};

}  // namespace gangway
