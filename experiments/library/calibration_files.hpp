// Writes a calibration: device.yaml and workload.yaml for experiments, calibration.json with medians,
// intervals, fits and residuals, and samples.csv with all readings.
#pragma once

#include <filesystem>
#include <string>

#include "hw/calibration/calibration.hpp"
#include "models/input/field.hpp"

namespace gangway {

// Write the first three files, or the last one, into the folder. `name` is the device's name, `command` the
// command that measured it. Throw RunError if a file cannot be written.
void write_descriptions(const Calibration& calibration, const std::string& name, const std::string& command,
                        const std::filesystem::path& folder);
void write_account(const Calibration& calibration, const std::string& name, const std::string& command,
                   const std::filesystem::path& folder);

// A measured kernel, as in workload files.
Node measured_kernel(const Kernel& kernel);

// Whether the folder contains a calibration.
bool holds_calibration(const std::filesystem::path& folder);

}  // namespace gangway
