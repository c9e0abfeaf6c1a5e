// Total and remaining times of jobs, as declared or as learnt (FRS paper, IV-E: the time per task is known in
// advance or updated at evictions). If whole jobs are granted, or no time is declared, earlier jobs of the
// same program are used. An unknown time counts as 0, so that the job is tried and measured.
#pragma once

#include <array>
#include <vector>

#include "models/policy.hpp"

namespace gangway {

class Estimates {
 public:
  static Parameter parameter();  // time_per_task: given | learnt
  Estimates() = default;         // given
  explicit Estimates(const ParameterValues& values) : learn_(values.choice("time_per_task") == "learnt") {}

  // A launch of the kernel completed `tasks` block-tasks between its first block's start and the report.
  void saw(const JobFacts& job, std::uint32_t kernel, Duration elapsed, BlockCount tasks);
  // A job of the program is over, with total device time `served`.
  void finished(std::uint32_t program, Duration served);

  Duration total(const JobFacts& job) const;  // of all kernels
  // The time of what was not done when the current kernel last left the device.
  Duration left(const JobFacts& job) const;

 private:
  struct Seen {
    Duration elapsed;
    BlockCount tasks;
  };
  Duration of(const JobFacts& job, std::uint32_t kernel, BlockCount tasks) const;
  Duration sum(const JobFacts& job, std::uint32_t kernel) const;  // of this kernel and all later ones

  // The median of the program's latest jobs; 0 if there are none.
  Duration usual(std::uint32_t program) const;
  Duration whole(const JobFacts& job) const;  // of a job without kernels
  static bool by_kernel(const JobFacts& job) { return job.kernels.size() > 0; }
  // Whether kernel times are learnt, so that sums change.
  bool adds_up(const JobFacts& job) const { return learn_ || !job.work.alone; }
  static constexpr std::size_t kLatest = 31;

  bool learn_ = false;
  struct Program {
    std::vector<Duration> latest;  // times of its jobs, in a ring
    std::size_t next = 0;
    Duration median;
  };
  std::vector<Program> programs_;
  std::vector<std::vector<Seen>> seen_;  // by client, by kernel
  // Cache for the programs asked about last, with a fixed place per client: declared times do not change
  // within a run, and adding up thousands of kernels at every decision would be slow. Fixed, because deciding
  // must not allocate.
  struct Sums {
    const KernelFacts* program = nullptr;
    Duration total;
    std::uint32_t kernel = 0;
    Duration from;  // of this kernel and all later ones
    // The last answer, and the state of the job that it belongs to.
    JobId job = {};
    std::uint32_t at = 0;
    BlockCount done{-1};
    Duration left = {};
  };
  Sums& declared(const JobFacts& job) const;
  mutable std::array<Sums, 64> declared_;
};

}  // namespace gangway
