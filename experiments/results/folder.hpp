// The result folder of an experiment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/manifest.hpp"
#include "experiments/results/result_parts.hpp"
#include "experiments/results/table_sink.hpp"
#include "experiments/results/unfinished_cells.hpp"
#include "experiments/running/group.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/world.hpp"

namespace gangway {

// What clients.csv and services.csv have of a client, for display.
struct ReportedClient {
  std::string name;
  Row client, service;
};

// A row of summary.csv for display.
struct ReportedRow {
  std::uint32_t point = 0;
  std::string policy;
  std::vector<std::string> values;           // swept, as text
  Row summary;                               // empty if the group failed
  std::string error;                         // one line, if it failed
  std::vector<ReportedClient> clients = {};  // empty unless there is a services.csv
};

struct Findings {
  std::vector<Verdict> verdicts;  // on the published values
  std::vector<ReportedRow> rows;  // the first rows of summary.csv
  // If launches take much of the time, or replications are equal: one line each.
  std::vector<std::string> warnings;
};

class ResultFolder {
 public:
  static constexpr std::size_t kMostReported = 60;

  // Opened as by ResultParts.
  ResultFolder(std::filesystem::path path, const Experiment& experiment, ResultKey key, bool force);

  ResultParts& parts() { return parts_; }
  bool complete() const { return parts_.complete(); }  // nothing remains to be done

  // Groups are numbered by point, then policy. A replication's jobs.csv rows precede its group, replication
  // by replication.
  void keep_jobs(std::uint64_t group, std::uint32_t replication, const std::string& rows);
  void keep(std::uint64_t group, std::uint32_t point, const std::string& policy, const GroupRows& rows);
  void keep_failure(std::uint64_t group, std::uint32_t point, const std::string& policy,
                    const std::string& error);

  // Writes the final files, with failed groups as summary.csv rows that contain only the reason, and removes
  // the parts unless some failed. RunError if all failed; then nothing is written.
  Findings finish(RunAccount& account,           // receives what rows say of the scheduler, notes, warnings
                  TableSink* tables = nullptr);  // also receives all rows
  // For a part of results: no tables and no findings. The parts stay, for a merge.
  void finish_part(const RunAccount& account);

 private:
  class Tables;
  void write_tables(Measured& measured, UnfinishedCells& unfinished, Findings& findings, RunAccount& account,
                    TableSink* told);
  nlohmann::ordered_json manifest_of(const RunAccount& account) const;

  const Experiment* experiment_;
  ResultParts parts_;
};

}  // namespace gangway
