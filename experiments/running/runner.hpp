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
  std::optional<PointSet> points;  // only these, as a part of results; not empty
  const WorldEntry* world = nullptr;
  unsigned threads = 0;  // 0: one per core
  bool force = false;
  bool trace = false;  // keep the trace of replication 0, permutation 0 of every point and policy
  std::uint64_t trace_limit = TraceFiles::kUsualLimit;
  TraceFiles::Say say = [](const std::string&) {};  // receives lines for people
  std::string command;
  // Called on the calling thread about five times a second.
  std::function<void(const RunProgress&)> progress = {};
  TableSink* tables = nullptr;  // receives table rows as they are written
};

// A result group, one point under one policy, that failed.
struct FailedGroup {
  std::uint32_t point = 0;
  std::string policy;
  std::string message;  // may have several lines: an event history
  bool input = false;   // wrong input

  std::string text() const;  // the message, with point and policy unless it names them
};

struct RunReport {
  bool interrupted = false;
  bool was_complete = false;  // nothing had to be done
  bool part = false;          // a part of results: no tables and no findings
  std::uint64_t groups = 0, groups_done = 0;
  std::uint64_t failed = 0;
  std::vector<FailedGroup> failures;  // the first ones, in result order
  std::vector<std::string> notes;     // one line each, for people
  Findings findings;
  RunAccount account;
};

// Plays all points, policies and replications and fills the result folder. Output is byte-identical (except
// the manifest) for any number of threads; memory does not depend on the number of points. If `stop` is set,
// finished groups are kept and the report says interrupted. A failed group does not affect others: its error
// is in the report and summary.csv, and a later call retries it. If all fail, only the report is produced.
// With `points` the folder becomes a part of results for PartFile and Merge, which contains failures even if
// all fail. Throws InputError if a policy needs more than the world offers, RunError if results cannot be
// written; finished groups are kept.
RunReport run_experiment(const Experiment& experiment, const RunOptions& options,
                         const std::atomic<bool>& stop);

}  // namespace gangway
