// How well a calibration predicts: pairs of its kernels, to which nothing was fitted, played in the simulator
// and on the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "hw/calibration/calibration.hpp"

namespace gangway {

struct PairsPlan {
  std::size_t pairs = 6;  // fewer where there are not so many
  std::string world;      // of the device
  std::string mechanism;
  std::uint64_t seed = 1;
};

// The experiment as a file has it, with device.yaml beside it: each pair is a point, its jobs meet at random.
// Empty where there are not two kernels.
std::string pairs_experiment(const Calibration& calibration, const PairsPlan& plan);

// Writes pairs.yaml into the folder, which has the calibration's device.yaml, plays it (pairs/sim and
// pairs/WORLD are the results) and compares. None where there are not two kernels. Throws RunError where a
// pair cannot be played, or `stop` is set.
std::optional<ExpectedError> play_pairs(const Calibration& calibration, const PairsPlan& plan,
                                        const std::filesystem::path& folder, const std::atomic<bool>& stop);

}  // namespace gangway
