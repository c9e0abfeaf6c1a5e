// Runs a study on all cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/running/group_work.hpp"
#include "experiments/studies/study.hpp"

namespace gangway {

struct StudyOptions {
  std::filesystem::path out;
  std::optional<PointSet> points;  // only these, as a part of results; not empty
  unsigned threads = 0;            // 0: one per core
  bool force = false;
  std::string command;
  std::function<void(const RunProgress&)> progress = {};  // as in RunOptions
};

struct StudyReport {
  bool interrupted = false;
  bool was_complete = false;  // nothing had to be done
  bool part = false;          // a part of results, without tables
  std::uint64_t groups = 0, groups_done = 0;
  std::uint64_t sets = 0, jobs = 0;  // in the groups computed now
  double seconds = 0;
  unsigned threads = 1;
  std::string summary;             // the first lines of summary.csv
  std::vector<std::string> notes;  // one line each, for people
};

// Judges all sets of all points in all orders and fills the result folder. Output is byte-identical (except
// the manifest) for any number of threads; memory does not depend on the number of points. A group is a point
// in one order; finished ones are kept if `stop` is set or the run fails, and a later call continues. With
// `points` the folder becomes a part of results. Throws RunError if an observation exceeds a bound.
StudyReport run_study(const Study& study, const StudyOptions& options, const std::atomic<bool>& stop);

}  // namespace gangway
