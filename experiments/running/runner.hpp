// Runs a sweep on all cores.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/results/folder.hpp"
#include "experiments/running/group_work.hpp"
#include "experiments/timelines/trace_files.hpp"

namespace gangway {

struct RunOptions {
  std::filesystem::path out;
  std::optional<PointSet> points;  // only these, as a part of the results; not empty
  const WorldEntry* world = nullptr;
  unsigned threads = 0;  // 0: one for each core
  bool force = false;
  bool trace = false;  // keep the trace of replication 0, permutation 0 of every point and policy
  std::uint64_t trace_limit = TraceFiles::kUsualLimit;
  TraceFiles::Say say = [](const std::string&) {};  // lines for people, beside the results
  std::string command;
  // Called on the calling thread about five times a second.
  std::function<void(const RunProgress&)> progress = {};
  TableSink* tables = nullptr;  // is told the rows of the tables when they are written
};

// A group of results, one point under one policy, that could not be played.
struct FailedGroup {
  std::uint32_t point = 0;
  std::string policy;
  std::string message;  // may have more lines: an event history
  bool input = false;   // the input was wrong

  std::string text() const;  // the message, with the point and the policy where it does not name them itself
};

struct RunReport {
  bool interrupted = false;
  bool was_complete = false;  // nothing had to be done
  bool part = false;          // of the results: there are no tables and no findings
  std::uint64_t groups = 0, groups_done = 0;
  std::uint64_t failed = 0;
  std::vector<FailedGroup> failures;  // the first of these in the order of the results
  std::vector<std::string> notes;     // one line each, for people
  Findings findings;
  RunAccount account;
};

// Plays all points, policies and replications and fills the result folder. The same bytes (manifest aside)
// for any number of threads, and memory that does not depend on the number of points. When `stop` gets set,
// finished groups are kept and the report says interrupted. A group that fails leaves the others alone: the
// report and summary.csv have its error, and a later call tries it again; where all fail, nothing but the
// report is written. With `points` the folder becomes a part of the results, which PartFile reads and Merge
// joins with others: then failures are in it even where all fail. Throws InputError when a policy needs more
// than the world can do, RunError when results cannot be written; finished groups are kept then, too.
RunReport run_experiment(const Experiment& experiment, const RunOptions& options,
                         const std::atomic<bool>& stop);

}  // namespace gangway
