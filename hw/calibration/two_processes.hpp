// Two processes of this program, each with its own context, that carry out requests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/calibration/slice_times.hpp"

namespace gangway {

// Starts `command` twice; each must call answer_for_context() with its standard streams. `environment`:
// additional variables (NAME=VALUE). The processes end with the object. Throws RunError, also if one cannot
// use its device.
std::unique_ptr<TwoContexts> start_two_processes(const std::vector<std::string>& command,
                                                 const std::vector<std::string>& environment = {});

// The other end: carries out requests from stdin, one per line, and answers on stdout, until stdin ends.
// Failures are answered, too.
void answer_for_context(std::unique_ptr<SharingProbe> (*make)());

}  // namespace gangway
