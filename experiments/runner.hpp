// Runs a sweep on all cores.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "experiments/folder.hpp"
#include "experiments/trace_files.hpp"

namespace gangway {

struct RunOptions {
  std::filesystem::path out;
  const WorldEntry* world = nullptr;
  unsigned threads = 0;  // 0: one for each core
  bool force = false;
  bool trace = false;  // keep the trace of replication 0, permutation 0 of every point and policy
  std::uint64_t trace_limit = TraceFiles::kUsualLimit;
  TraceFiles::Say say = [](const std::string&) {};  // lines for people, beside the results
  std::string command;
  bool progress = false;  // on a terminal
};

struct RunReport {
  bool interrupted = false;
  bool was_complete = false;  // nothing had to be done
  std::size_t groups = 0, groups_done = 0;
  std::vector<Verdict> verdicts;
  std::vector<GroupRows> rows;
  RunAccount account;
};

// Plays all points, policies and replications and fills the result folder. The same bytes (manifest aside)
// for any number of threads. When `stop` gets set, finished groups are kept and the report says interrupted.
// Throws InputError when a policy needs more than the world can do, RunError when a run fails; finished
// groups are kept then, too.
RunReport run_experiment(const Experiment& experiment, const RunOptions& options,
                         const std::atomic<bool>& stop);

}  // namespace gangway
