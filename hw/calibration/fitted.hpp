// What readings come to: the model of a device, and of kernels on it.
#pragma once

#include <string>
#include <vector>

#include "hw/calibration/calibration.hpp"

namespace gangway {

// The median of the readings; of any mechanism or kernel where that is empty.
double median_of(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                 const std::string& kernel);

// Also adds its line to the calibration.
CopyEngine fit_copies(Calibration& c, const char* quantity);

// The share of its speed `alone` that a copy has while another one goes the other way.
double speed_both_ways(const Calibration& c, const char* quantity, const CopyEngine& alone);

// What commands of throttle kernels met beside copies.
BesideCopies commands_beside_copies(const Calibration& c, const std::string& mechanism);

// Adds the line: eviction delay = what every eviction costs + slope * longest block-task.
void fit_evictions(Calibration& c, const std::string& mechanism);

// Of evictions at the shortest block-tasks, what they cost beside these. RunError where there are too few.
std::vector<double> beside_shortest(const Calibration& c, const std::string& mechanism);

// Gives the measured kernels their times, overheads, eviction delays and useful shares. `seen`: what every
// eviction costs. RunError where a kernel's times cannot be.
void describe_kernels(Calibration& c, const std::string& mechanism, Duration seen);

}  // namespace gangway
