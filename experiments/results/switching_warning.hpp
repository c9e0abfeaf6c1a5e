// Whether launches and evictions take so much time that results say more about them than about the policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/running/group.hpp"
#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// A warning is due above this share of time in which a launch owns the GPU without blocks.
inline constexpr double kMuchSwitching = 0.1;

// Receives the rows of summary.csv.
class SwitchingWarning {
 public:
  void add(std::uint32_t point, const std::string& policy, const Row& summary);
  // One line with the worst cell and a suggestion.
  std::optional<std::string> text(const Experiment& experiment) const;

 private:
  double share_ = kMuchSwitching;
  std::uint32_t point_ = 0;
  std::string policy_;
  Row row_;
  std::uint64_t cells_ = 0, much_ = 0;
};

}  // namespace gangway
