// A calibration as files: device.yaml and workload.yaml, which experiments use, calibration.json with every
// median, interval, fit and residual, and samples.csv with every reading.
#pragma once

#include <filesystem>
#include <string>

#include "hw/calibration/calibration.hpp"

namespace gangway {

// Writes the four files into the folder. `name` becomes the device's, `command` says where they come from.
// Throws RunError when a file cannot be written.
void write_calibration(const Calibration& calibration, const std::string& name, const std::string& command,
                       const std::filesystem::path& folder);

// Whether the folder holds a calibration already.
bool holds_calibration(const std::filesystem::path& folder);

}  // namespace gangway
