// Lateness of the real-time scheduler in results (hw/README.md, "How late the scheduler was").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/results/row.hpp"

namespace gangway {

// A scheduler whose 99th percentile of lateness exceeds this share of the shortest job's time alone is too
// late.
inline constexpr double kTooLate = 0.05;

// The maximum of each value over all rows of a result folder.
class SchedulerAccount {
 public:
  void add(const Row& summary);
  bool empty() const { return rows_ == 0; }
  std::size_t too_late() const { return too_late_; }
  // For the manifest; null for simulations.
  nlohmann::ordered_json json() const;
  // One line for people if a run was too late, else empty.
  std::string warning() const;

 private:
  std::size_t rows_ = 0, too_late_ = 0;
  double p50_ = 0, p99_ = 0, most_ = 0, off_cpu_ = 0;
};

}  // namespace gangway
