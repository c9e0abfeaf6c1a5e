// Joins parts into one result folder, as if a single run had played all points.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "experiments/results/part_file.hpp"
#include "experiments/running/runner.hpp"
#include "experiments/studies/study_runner.hpp"

namespace gangway {

// A folder that collects parts, in any order, until it has all points. Added parts remain after this object
// is gone; another one continues, as does a run of the same configuration. Memory does not grow with points
// or parts, only with gaps between present points. Not thread-safe.
//
//   Merge merge(PartFile(first), "out/sweep", false);
//   for (each file that comes in) merge.add(PartFile(file), stop);
//   if (merge.missing().empty()) merge.finish(command);
class Merge {
 public:
  // Opens or creates the folder, like ResultParts, for the results that `like` is a part of. The experiment
  // or study is read from that part. Throws InputError like ResultParts and read_experiment(), and if the
  // part is of another build; RunError if another process writes to the folder.
  Merge(PartFile& like, const std::filesystem::path& out, bool force);
  ~Merge();
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  bool complete() const;  // already finished; nothing can be added

  // Adds all results and timelines of the part, or none if it throws or `stop` is set; returns whether it
  // did. A point already present must be equal; a failed result is replaced by one that succeeded. Throws
  // InputError, naming the part, for a part of other results, a damaged one, and one that differs in a point
  // (naming that point's earlier part). RunError if writing fails.
  bool add(PartFile& part, const std::atomic<bool>& stop);

  // Removes everything added. Call nothing afterwards.
  void abandon();

  PointSet missing() const;  // points missing so far
  // Throws InputError, one line, unless parts with `points` would complete the results.
  void expect_all(const PointSet& points) const;

  // Writes the tables and the manifest, byte for byte as a single run would, except the manifest's times
  // (earliest start, latest end, sum of seconds). Throws InputError if points are missing, RunError if every
  // result failed or writing fails.
  std::variant<RunReport, StudyReport> finish(const std::string& command);

  const Experiment* experiment() const;  // null for a study
  std::uint32_t points() const;          // in the sweep

 private:
  class Destination;
  std::unique_ptr<Destination> to_;
};

// The result of merging all parts.
struct MergeReport {
  bool was_complete = false;  // nothing had to be done
  bool interrupted = false;
  std::size_t parts_added = 0;
  std::variant<RunReport, StudyReport> report;
  std::unique_ptr<Merge> merge;  // keeps alive what the report refers to
};

// Merges folders or files of parts into `out`. First checks each against the first part and their points
// against the sweep: InputError if they do not belong together, a point is missing, or `out` is one of them.
// Otherwise like Merge; if a part turns out to be invalid, nothing begun by this call remains.
MergeReport merge_parts(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& out,
                        bool force, const std::string& command, const std::atomic<bool>& stop);

}  // namespace gangway
