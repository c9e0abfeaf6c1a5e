// One task set of a study: its bounds, what is seen of it, and how the two compare.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/study.hpp"
#include "models/bounds/report.hpp"

namespace gangway {

struct JudgedSet {
  // Of one bound, or of the tightest one of each task: whether it holds for all tasks of the set, and is
  // within all their periods. For one-shot kernels and tasks without a period the second says the same.
  struct Verdict {
    std::string bound;
    bool all = true, in_time = true;
    std::vector<double> ratios;  // what was seen of each task that it bounds, over the bound
    std::int64_t stopped = 0;    // tasks for which it is looser or missing as a step limit stopped it
  };
  std::vector<Verdict> bounds;       // by name, the tightest last
  std::optional<bool> met, growing;  // in the long run: every deadline; any task
  std::string rows;                  // of tasks.csv, after the point and the order
  std::uint64_t jobs = 0, events = 0;

  bool proven() const { return bounds.back().all; }
};

inline constexpr const char* kTightest = "tightest";
inline constexpr const char* kTaskColumns = "set,task,u,period,bound,value,simulated,searched,ratio,stopped";

// Throws RunError when anything is seen to be above a bound. None when `stop` gets set.
std::optional<JudgedSet> judge(const Study& study, const StudyPoint& point, std::uint64_t number,
                               std::size_t order, const std::atomic<bool>& stop);

}  // namespace gangway
