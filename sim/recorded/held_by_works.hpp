// What recorded works hold of a GPU's threads and registers while they run: rule TS9 of README.md.
#pragma once

#include <cstdint>
#include <vector>

#include "models/device.hpp"
#include "models/recording/played_program.hpp"
#include "models/workload.hpp"

namespace gangway {

// In parts of StopCosts::whole(), at least 1.
struct HeldByWorks {
  std::vector<std::int64_t> launches, graphs;  // by their numbers in the recording

  std::int64_t of(const recording::PlayedWork& work) const {
    if (work.kind == recording::WorkKind::kernel) return launches[work.shape];
    if (work.kind == recording::WorkKind::graph) return graphs[work.shape];
    return 1;
  }
};

// What says how many of its blocks fit on a GPU.
Kernel kernel_of(const recording::PlayedLaunch& launch);

HeldByWorks held_by(const recording::PlayedProgram& program, const Device& device);

}  // namespace gangway
