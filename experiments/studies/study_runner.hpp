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
  std::optional<PointSet> points;  // only these, as a part of the results; not empty
  unsigned threads = 0;            // 0: one for each core
  bool force = false;
  std::string command;
  std::function<void(const RunProgress&)> progress = {};  // as RunOptions has it
};

struct StudyReport {
  bool interrupted = false;
  bool was_complete = false;  // nothing had to be done
  bool part = false;          // of the results: there are no tables
  std::uint64_t groups = 0, groups_done = 0;
  std::uint64_t sets = 0, jobs = 0;  // of the groups computed now
  double seconds = 0;
  unsigned threads = 1;
  std::string summary;             // the first lines of summary.csv
  std::vector<std::string> notes;  // one line each, for people
};

// Judges all sets of all points in all orders and fills the result folder. The same bytes (manifest aside)
// for any number of threads, and memory that does not depend on the number of points. A point in one order is
// a group: finished ones are kept when `stop` gets set or the run fails, and a later call goes on from there.
// With `points` the folder becomes a part of the results. Throws RunError when anything is seen to be above a
// bound.
StudyReport run_study(const Study& study, const StudyOptions& options, const std::atomic<bool>& stop);

}  // namespace gangway
