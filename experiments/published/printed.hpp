// What a paper prints: a list of its numbers and of its comparative sentences, each with the place where it
// stands and either the experiments that compare it, the input files that it went into, or the reason why
// neither.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// The name of a list, which lies beside the experiments of its paper.
inline constexpr const char* kPrintedList = "printed.yaml";

struct PrintedNumber {
  std::string what;  // of several, which one
  double value = 0;  // in ns, bytes and bytes per second where it has a unit; a percentage as a share
  Origin origin = {};
};

struct PrintedStatement {
  std::string id;
  std::string place;  // section, figure or table
  std::string about;
  std::vector<PrintedNumber> numbers;  // none: a sentence that compares without a number
  std::vector<std::string> compared;   // experiments beside the list, without .yaml
  std::vector<std::string> input;      // files, as seen from the list
  std::string reason;
  Origin origin = {};
  std::string path;  // in the list, for errors
};

struct PrintedList {
  std::string paper;
  std::vector<PrintedStatement> statements;  // ids are unique, each has one of compared, input and reason
};

// Throws InputError.
PrintedList read_printed(const Field& root);

// Holds a list against the experiments in its folder and against the files that it names. Throws InputError
// where an experiment that is said to compare a statement has too few entries for its numbers; where an entry
// has a number that its statement has not (a sentence without one is compared with PublishedValue::neutral(),
// or openly with what was worked out), names no statement though it is not open, or names one that the list
// does not send to its experiment; where a statement counts in two experiments, or counts in one and is open
// in another; and where a number is in none of the files that it is said to have gone into.
void check_printed(const PrintedList& list, const std::filesystem::path& folder);

}  // namespace gangway
