// What commands that make results print of them.
#pragma once

#include <string>

#include "experiments/running/runner.hpp"
#include "experiments/studies/study_runner.hpp"

namespace gangway {

// The first rows of summary.csv and how many published values hold; warnings on stderr.
void print_results(const Experiment& experiment, const RunReport& report);

// On stderr, what could not be played, the first one in full. Returns the exit code.
int print_failures(const RunReport& report, const std::string& what_tries_again);

// The columns of summary.csv without the intervals, which would make lines too long; shares in three
// decimals.
void print_study(const StudyReport& report);

}  // namespace gangway
