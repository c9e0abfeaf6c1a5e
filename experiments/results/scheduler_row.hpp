// What the results say of the scheduler of runs in real time (hw/README.md, "How late the scheduler was").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/results/row.hpp"

namespace gangway {

// Of the shortest job's time alone: a scheduler that is later than that, once in a hundred times, is too
// late.
inline constexpr double kTooLate = 0.05;

// All rows of a result folder together: of each number the largest.
class SchedulerAccount {
 public:
  void add(const Row& summary);
  bool empty() const { return rows_ == 0; }
  std::size_t too_late() const { return too_late_; }
  // For the manifest; null for simulations.
  nlohmann::ordered_json json() const;
  // One line for people where a run was too late, else nothing.
  std::string warning() const;

 private:
  std::size_t rows_ = 0, too_late_ = 0;
  double p50_ = 0, p99_ = 0, most_ = 0, off_cpu_ = 0;
};

}  // namespace gangway
