// Writes a calibration: device.yaml and workload.yaml for experiments, calibration.json with medians,
// intervals, fits and residuals, and samples.csv with all readings.
#pragma once

#include <filesystem>
#include <string>

#include "hw/calibration/calibration.hpp"

namespace gangway {

// Writes the four files into the folder. `name`: of the device; `command`: their origin. Throws RunError if a
// file cannot be written.
void write_calibration(const Calibration& calibration, const std::string& name, const std::string& command,
                       const std::filesystem::path& folder);

// Whether the folder contains a calibration.
bool holds_calibration(const std::filesystem::path& folder);

}  // namespace gangway
