// Two processes of this program, each with a context of its own, that do what they are told.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/calibration/slice_times.hpp"

namespace gangway {

// Starts them: `command` twice, each of which must call answer_for_context() with its standard streams.
// `environment`: variables (NAME=VALUE) that they get besides this process's. They end with it. Throws
// RunError, also where one of them cannot use its device.
std::unique_ptr<TwoContexts> start_two_processes(const std::vector<std::string>& command,
                                                 const std::vector<std::string>& environment = {});

// The other end: does what is asked for on stdin, a line each, and answers on stdout, until stdin ends. What
// fails is answered, too.
void answer_for_context(std::unique_ptr<SharingProbe> (*make)());

}  // namespace gangway
