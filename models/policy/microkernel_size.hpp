// Sizes of Share-a-GPU's microkernels (Garg et al., II-F): fixed, or filling a time slice by declared or
// measured times. Exact definition: sim/memory/README.md.
#pragma once

#include <algorithm>
#include <vector>

#include "models/parameters.hpp"
#include "models/policy/slices.hpp"

namespace gangway {

class MicrokernelSize {
 public:
  explicit MicrokernelSize(const ParameterValues& values)
      : fixed_(values.choice("blocks") == "block-tasks"),
        profiled_(values.choice("blocks") == "profiled"),
        slice_(values.duration("slice")),
        block_tasks_(values.integer("block_tasks")) {}

  void prepare(const View& view) {
    seen_.assign(view.clients(), {});
    for (std::uint32_t c = 0; c < seen_.size(); ++c)
      seen_[c].reserve(view.job({ClientId{c}, 0}).kernels.size());
  }

  // `left`: block-tasks remaining.
  BlockCount next(const JobFacts& job, BlockCount left) const {
    const KernelFacts& kernel = job.current();
    if (fixed_) return std::min(left, BlockCount{block_tasks_});
    if (!profiled_) return std::min(left, waves_within(kernel, slice_));
    const Seen seen = seen_of(job.id.client, kernel.same_as);
    if (seen.waves == 0) return std::min(left, whole_waves(kernel, 1));
    const std::int64_t waves =
        mul_div_floor(slice_.ns, seen.waves, std::max<std::int64_t>(1, seen.elapsed.ns));
    return std::min(left, whole_waves(kernel, std::min(waves, waves_of(kernel, kernel.block_tasks))));
  }

  // Reports the last microkernel of this kernel.
  void saw(ClientId client, const KernelFacts& kernel, BlockCount tasks, Duration elapsed) {
    if (!profiled_) return;
    std::vector<Seen>& seen = seen_[client.index];
    if (seen.size() <= kernel.same_as) seen.resize(kernel.same_as + std::size_t{1});
    seen[kernel.same_as] = {waves_of(kernel, tasks), elapsed};
  }

 private:
  struct Seen {
    std::int64_t waves = 0;
    Duration elapsed;
  };
  Seen seen_of(ClientId client, std::uint32_t kernel) const {
    const std::vector<Seen>& seen = seen_[client.index];
    return kernel < seen.size() ? seen[kernel] : Seen{};
  }

  bool fixed_, profiled_;  // neither: by declared times
  Duration slice_;
  std::int64_t block_tasks_;
  std::vector<std::vector<Seen>> seen_;  // by client and kernel
};

}  // namespace gangway
