// Turns readings into a model of the device and its kernels.
#pragma once

#include <string>
#include <vector>

#include "hw/calibration/calibration.hpp"

namespace gangway {

// The median of the readings; an empty mechanism or kernel matches any.
double median_of(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                 const std::string& kernel);

// Also adds the fitted line to the calibration.
CopyEngine fit_copies(Calibration& c, const char* quantity);

// Speed of a copy while another copy goes the other way, as a share of its speed alone.
double speed_both_ways(const Calibration& c, const char* quantity, const CopyEngine& alone);

// How commands of throttle kernels were delayed beside copies.
BesideCopies commands_beside_copies(const Calibration& c, const std::string& mechanism);

// By how much longer launches of throttle kernels took after idle times than one after the other, in the
// median.
std::vector<AfterIdle> launches_after_idle(const Calibration& c, const std::string& mechanism);

// From a block's end until the next one in its place is busy, by the original form of a kernel whose blocks
// come in `waves` and are busy for `length`. 0 if it was not measured, or not that kernel alone.
Duration refill(const Calibration& c, const std::string& mechanism, const std::string& kernel,
                std::int64_t waves, Duration length);

// Adds the line: eviction delay = fixed cost + slope * longest block-task.
void fit_evictions(Calibration& c, const std::string& mechanism);

inline constexpr const char* kEvictionBeside = "eviction beside its block-task";
// The fixed cost of evictions with the shortest block-tasks. RunError if there are too few.
std::vector<double> beside_shortest(const Calibration& c, const std::string& mechanism);

// Sets the measured kernels' times, overheads, eviction delays and useful shares. `seen`: the fixed cost of
// an eviction. RunError if a kernel's times are impossible.
void describe_kernels(Calibration& c, const std::string& mechanism, Duration seen);

}  // namespace gangway
