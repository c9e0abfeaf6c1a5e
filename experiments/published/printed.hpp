// The list of what a paper prints: numbers and comparative sentences, each with its place and either the
// experiments that compare it, the input files that use it, or the reason why neither.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// Name of the list file beside a paper's experiments.
inline constexpr const char* kPrintedList = "printed.yaml";

struct PrintedNumber {
  std::string what;  // which of several values
  double value = 0;  // in ns, bytes or bytes per second if it has a unit; percentages as shares
  Origin origin = {};
};

struct PrintedStatement {
  std::string id;
  std::string place;  // section, figure or table
  std::string about;
  std::vector<PrintedNumber> numbers;  // empty: a comparison without numbers
  std::vector<std::string> compared;   // experiments beside the list, without .yaml
  std::vector<std::string> input;      // files, relative to the list
  std::string reason;
  Origin origin = {};
  std::string path;  // within the list, for errors
};

struct PrintedList {
  std::string paper;
  std::vector<PrintedStatement> statements;  // ids are unique; each has one of compared, input and reason
};

// Throws InputError.
PrintedList read_printed(const Field& root);

// Checks a list against the experiments in its folder and the named files. Throws InputError if an experiment
// has too few entries for a statement's numbers; if an entry has a number that its statement lacks (a
// sentence without numbers is compared with PublishedValue::neutral(), or openly), names no statement without
// being open, or names one not assigned to its experiment; if a statement counts in two experiments, or
// counts in one and is open in another; and if a number is in none of its input files.
void check_printed(const PrintedList& list, const std::filesystem::path& folder);

}  // namespace gangway
