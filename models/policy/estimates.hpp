// How long jobs take in all, and how long what is left of them: as declared or as learnt (FRS paper, IV-E:
// the time per task is known beforehand or updated at evictions). Where whole jobs are granted, or a time is
// not declared, from earlier jobs of the same program; what nobody knows counts as no time, so that it is
// tried and measured.
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

  // A launch of the kernel did `tasks` block-tasks between its first block's start and the report.
  void saw(const JobFacts& job, std::uint32_t kernel, Duration elapsed, BlockCount tasks);
  // A job of the program is over, which was served so much.
  void finished(std::uint32_t program, Duration served);

  Duration total(const JobFacts& job) const;  // of all kernels
  Duration left(
      const JobFacts& job) const;  // of what was not done when the current kernel last left the device

 private:
  struct Seen {
    Duration elapsed;
    BlockCount tasks;
  };
  Duration of(const JobFacts& job, std::uint32_t kernel, BlockCount tasks) const;
  Duration sum(const JobFacts& job, std::uint32_t kernel) const;  // of this kernel and all after it

  // The median of the latest jobs of the program; 0 if there are none.
  Duration usual(std::uint32_t program) const;
  Duration whole(const JobFacts& job) const;  // of a job without kernels
  static bool by_kernel(const JobFacts& job) { return job.kernels.size() > 0; }
  // Whether its kernels' times are learnt, so that their sum changes.
  bool adds_up(const JobFacts& job) const { return learn_ || !job.work.alone; }
  static constexpr std::size_t kLatest = 31;

  bool learn_ = false;
  struct Program {
    std::vector<Duration> latest;  // what its jobs took, in a ring
    std::size_t next = 0;
    Duration median;
  };
  std::vector<Program> programs_;
  std::vector<std::vector<Seen>> seen_;  // by client, by kernel
  // Of the programs last asked about, one place for each so many clients: declared times stay the same in a
  // run, and programs of thousands of kernels would else be added up several times at every decision. In
  // place, as deciding must not allocate.
  struct Sums {
    const KernelFacts* program = nullptr;
    Duration total;
    std::uint32_t kernel = 0;
    Duration from;  // of this kernel and all after it
    // What was said last of what is left, and of which state of the job.
    JobId job = {};
    std::uint32_t at = 0;
    BlockCount done{-1};
    Duration left = {};
  };
  Sums& declared(const JobFacts& job) const;
  mutable std::array<Sums, 64> declared_;
};

}  // namespace gangway
