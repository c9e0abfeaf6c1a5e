// Tests a calibration's predictions: pairs of its kernels, to which nothing was fitted, are played in the
// simulator and on the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "hw/calibration/calibration.hpp"

namespace gangway {

struct PairsPlan {
  std::size_t pairs = 6;  // fewer if there are not that many
  std::string world;      // the device's
  std::string mechanism;
  std::uint64_t seed = 1;
};

// The experiment file, for a folder that has device.yaml: each pair is a point, and its jobs meet at random
// moments. Empty for fewer than two kernels.
std::string pairs_experiment(const Calibration& calibration, const PairsPlan& plan);

// Writes pairs.yaml into the folder, which has the calibration's device.yaml, plays it (results in pairs/sim
// and pairs/WORLD) and compares the results. None for fewer than two kernels. Throws RunError if a pair
// cannot be played or `stop` is set.
std::optional<ExpectedError> play_pairs(const Calibration& calibration, const PairsPlan& plan,
                                        const std::filesystem::path& folder, const std::atomic<bool>& stop);

}  // namespace gangway
