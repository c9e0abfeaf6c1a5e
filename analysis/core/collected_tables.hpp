// The tables of a run, collected in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/columns.hpp"
#include "experiments/results/table_sink.hpp"
#include "experiments/running/unit.hpp"

namespace gangway::python {

// jobs.csv: times in ns; NaN if a job did not begin or end. Doubles hold them exactly, because times are
// below 100 days. Swept parameters are omitted, because the point determines them.
class JobColumns {
 public:
  explicit JobColumns(const std::vector<JobField>& fields);
  void add(std::string_view lines);
  nb::dict take();

 private:
  struct Column {
    std::string name;
    std::optional<JobMetric::Kind> kind;
    std::vector<std::int64_t> whole;
    std::vector<double> numbers;
    Texts texts;
  };
  std::string header_;  // of jobs.csv
  std::vector<Column> columns_;
};

class CollectedTables : public TableSink {
 public:
  // Jobs may be numerous; without `keep_jobs` they are omitted.
  CollectedTables(const Experiment& experiment, bool keep_jobs)
      : keep_jobs_(keep_jobs), jobs_(job_fields(experiment)) {}
  void row(ResultTable table, std::uint32_t point, const std::string& policy, const std::string& client,
           const Row& cells) override;
  void jobs(std::string_view lines) override {
    if (keep_jobs_) jobs_.add(lines);
  }
  void published(const Row& cells) override { published_.add(cells); }

  // summary, clients, services, replications, service_replications: {point, policy, client, cells: [(name,
  // column)]}; jobs: {name: column}; published: [(name, column)]. Repeated texts are (codes, names). The
  // interpreter's lock must be held.
  nb::dict take();

 private:
  struct Table {
    std::vector<std::int64_t> point;
    Texts policy, client;
    NamedColumns cells;
  };
  Table tables_[5];  // by ResultTable
  const bool keep_jobs_;
  JobColumns jobs_;
  NamedColumns published_;
};

}  // namespace gangway::python
