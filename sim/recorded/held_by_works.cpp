#include "sim/recorded/held_by_works.hpp"

#include <algorithm>

#include "sim/stop_costs.hpp"

namespace gangway {

Kernel kernel_of(const recording::PlayedLaunch& launch) {
  Kernel kernel;
  kernel.block_tasks = {launch.blocks};
  kernel.block = {launch.threads, 1, 1};
  kernel.registers = launch.registers;
  kernel.shared_memory = launch.shared_memory;
  return kernel;
}

HeldByWorks held_by(const recording::PlayedProgram& program, const Device& device) {
  const StopCosts costs(device.time_slice.value_or(TimeSlice{}), device);
  HeldByWorks held;
  for (const recording::PlayedLaunch& launch : program.launches) {
    const Kernel kernel = kernel_of(launch);
    const std::int64_t resident = std::min(resident_blocks(device, kernel), launch.blocks);
    held.launches.push_back(
        std::clamp<std::int64_t>(resident * costs.held(needs_of(device, kernel)), 1, costs.whole()));
  }
  // The mean over a graph's kernels, by their time.
  std::vector<Duration> lengths(program.graphs());
  held.graphs.assign(program.graphs(), 1);
  for (const recording::PlayedNode& node : program.nodes) lengths[node.graph] += node.length;
  for (const recording::PlayedNode& node : program.nodes)
    held.graphs[node.graph] += mul_div_floor(held.launches[node.launch], node.length.ns,
                                             std::max<std::int64_t>(1, lengths[node.graph].ns));
  return held;
}

}  // namespace gangway
