// Prints results of commands that produce them.
#pragma once

#include <string>

#include "experiments/running/runner.hpp"
#include "experiments/studies/study_runner.hpp"

namespace gangway {

// Prints the first rows of summary.csv and the number of published values met; warnings on stderr.
void print_results(const Experiment& experiment, const RunReport& report);

// Reports failures on stderr, the first in full. Returns the exit code.
int print_failures(const RunReport& report, const std::string& what_tries_again);

// Prints the columns of summary.csv without intervals, which would be too wide; shares with three decimals.
void print_study(const StudyReport& report);

}  // namespace gangway
