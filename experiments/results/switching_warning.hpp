// Whether launches and evictions take so much of a run that its results say more of them than of the policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/running/group.hpp"
#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// More than this of the time without blocks on a GPU that a launch owns is worth a warning.
inline constexpr double kMuchSwitching = 0.1;

// Takes the rows of summary.csv one by one.
class SwitchingWarning {
 public:
  void add(std::uint32_t point, const std::string& policy, const Row& summary);
  // One line that names the cell with the greatest share, and what to try.
  std::optional<std::string> text(const Experiment& experiment) const;

 private:
  double share_ = kMuchSwitching;
  std::uint32_t point_ = 0;
  std::string policy_;
  Row row_;
  std::uint64_t cells_ = 0, much_ = 0;
};

}  // namespace gangway
