// Declared or learnt durations of kernels (FRS paper, IV-E: the time per task is known beforehand or updated
// at evictions).
#pragma once

#include <vector>

#include "models/policy.hpp"

namespace gangway {

class Estimates {
 public:
  static Parameter parameter();  // time_per_task: given | learnt
  explicit Estimates(const ParameterValues& values) : learn_(values.choice("time_per_task") == "learnt") {}

  // A launch of the kernel did `tasks` block-tasks between its first block's start and the report.
  void saw(ClientId client, std::uint32_t kernel, Duration elapsed, BlockCount tasks);

  Duration total(const JobFacts& job) const;  // of all kernels
  Duration left(
      const JobFacts& job) const;  // of what was not done when the current kernel last left the device

 private:
  struct Seen {
    Duration elapsed;
    BlockCount tasks;
  };
  Duration of(const JobFacts& job, std::uint32_t kernel, BlockCount tasks) const;

  bool learn_;
  std::vector<std::vector<Seen>> seen_;  // by client, by kernel
};

// The same from declared times alone.
Duration declared_total(const JobFacts& job);

}  // namespace gangway
