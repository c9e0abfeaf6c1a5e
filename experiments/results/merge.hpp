// Joins parts of results into one result folder, as if one run had played all points.
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

// A folder that parts are added to, one after the other and in any order, until it has all points. What was
// added stays when this object goes, and another one goes on from there, as a run does after an interruption;
// a run of the same configuration may go on from there, too. Memory grows neither with the number of points
// nor with that of parts, but with that of gaps between the points that are there. For one thread.
//
//   Merge merge(PartFile(first), "out/sweep", false);
//   for (each file that comes in) merge.add(PartFile(file), stop);
//   if (merge.missing().empty()) merge.finish(command);
class Merge {
 public:
  // Opens or makes the folder, as ResultParts does, for the results that `like` is a part of; the experiment
  // or study is read from there. Throws InputError as ResultParts and read_experiment() do, and where the
  // part is of another build of this program; RunError while another process writes to the folder.
  Merge(PartFile& like, const std::filesystem::path& out, bool force);
  ~Merge();
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  bool complete() const;  // the folder is finished already; nothing can be added

  // Adds all of the part's results and timelines, or none where it throws or `stop` gets set; returns whether
  // it did. A point that is there already has to be the same; a result that failed gives way to one that did
  // not. Throws InputError, with the part's name: for a part of other results, one that is damaged, and one
  // that differs in a point, with the name of the part that this came from before. RunError when something
  // cannot be written.
  bool add(PartFile& part, const std::atomic<bool>& stop);

  // Removes all that was added; nothing else may be called then.
  void abandon();

  PointSet missing() const;  // points that no part had so far
  // Throws InputError, in one line, unless parts of these results with `points` would leave none missing.
  void expect_all(const PointSet& points) const;

  // Writes the tables and the manifest: the bytes that one run writes, but for the manifest, where times are
  // those of the parts (the earliest start, the latest end, and the sum of their seconds). Throws InputError
  // where points are missing, RunError where every result failed or something cannot be written.
  std::variant<RunReport, StudyReport> finish(const std::string& command);

  const Experiment* experiment() const;  // null of a study
  std::uint32_t points() const;          // of the sweep

 private:
  class Destination;
  std::unique_ptr<Destination> to_;
};

// What a merge of all these parts at once came to.
struct MergeReport {
  bool was_complete = false;  // nothing had to be done
  bool interrupted = false;
  std::size_t parts_added = 0;
  std::variant<RunReport, StudyReport> report;
  std::unique_ptr<Merge> merge;  // for what the report is about
};

// Merges folders or files of parts into `out`. Before anything is written, each is held against the first and
// their points against the sweep: InputError where they do not belong together, a point is missing or `out`
// is one of them. Otherwise as Merge; where a part turns out to be wrong, nothing is left that this call
// began.
MergeReport merge_parts(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& out,
                        bool force, const std::string& command, const std::atomic<bool>& stop);

}  // namespace gangway
