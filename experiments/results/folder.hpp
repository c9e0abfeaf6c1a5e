// The result folder of an experiment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/manifest.hpp"
#include "experiments/results/result_parts.hpp"
#include "experiments/results/starved_cells.hpp"
#include "experiments/results/table_sink.hpp"
#include "experiments/running/group.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/world.hpp"

namespace gangway {

// A row of summary.csv, to be shown.
struct ReportedRow {
  std::uint32_t point = 0;
  std::string policy;
  std::vector<std::string> values;  // swept, as text
  Row summary;                      // empty where the group failed
  std::string error;                // then one line
};

struct Findings {
  std::vector<Verdict> verdicts;       // on the published values
  std::vector<ReportedRow> rows;       // the first of summary.csv
  std::optional<std::string> warning;  // of launches that take much of the time
};

class ResultFolder {
 public:
  static constexpr std::size_t kMostReported = 60;

  // As ResultParts opens it.
  ResultFolder(std::filesystem::path path, const Experiment& experiment, ResultKey key, bool force);

  ResultParts& parts() { return parts_; }
  bool complete() const { return parts_.complete(); }  // nothing is left to do

  // Groups are numbered point by point, policies in order. jobs.csv's rows of a replication come before its
  // group, replication by replication.
  void keep_jobs(std::uint64_t group, std::uint32_t replication, const std::string& rows);
  void keep(std::uint64_t group, std::uint32_t point, const std::string& policy, const GroupRows& rows);
  void keep_failure(std::uint64_t group, std::uint32_t point, const std::string& policy,
                    const std::string& error);

  // Writes the final files, of which failed groups are rows of summary.csv with nothing but the reason, and
  // removes the parts unless some failed. RunError where all did: then nothing is written.
  Findings finish(RunAccount& account,           // adds what all rows say of the scheduler
                  TableSink* tables = nullptr);  // is told all rows, too
  // Of a part of results: no tables, and no findings. The parts stay, for a merge.
  void finish_part(const RunAccount& account);

 private:
  class Tables;
  void write_tables(Measured& measured, StarvedCells& starved, Findings& findings,
                    SchedulerAccount& scheduler, TableSink* told);
  nlohmann::ordered_json manifest_of(const RunAccount& account) const;

  const Experiment* experiment_;
  ResultParts parts_;
};

}  // namespace gangway
