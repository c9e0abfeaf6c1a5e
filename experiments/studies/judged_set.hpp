// One task set of a study: bounds, observations, and their comparison.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/study.hpp"
#include "models/bounds/report.hpp"

namespace gangway {

struct JudgedSet {
  // For one bound, or the tightest of each task: whether it exists for all tasks, and lies within all their
  // periods. For one-shot kernels and tasks without period both are equal.
  struct Verdict {
    std::string bound;
    bool all = true, in_time = true;
    std::vector<double> ratios;  // observation over bound, for each task it bounds
    std::int64_t stopped = 0;    // tasks whose bound is looser or missing because of a step limit
  };
  std::vector<Verdict> bounds;       // by name; the tightest last
  std::optional<bool> met, growing;  // in the long run: all deadlines met; some task growing
  std::string rows;                  // rows of tasks.csv, without point and order
  std::uint64_t jobs = 0, events = 0;

  bool proven() const { return bounds.back().all; }
};

inline constexpr const char* kTightest = "tightest";
inline constexpr const char* kTaskColumns = "set,task,u,period,bound,value,simulated,searched,ratio,stopped";

// Throws RunError if an observation exceeds a bound. None if `stop` was set.
std::optional<JudgedSet> judge(const Study& study, const StudyPoint& point, std::uint64_t number,
                               std::size_t order, const std::atomic<bool>& stop);

}  // namespace gangway
