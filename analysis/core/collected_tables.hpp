// The tables of a run, kept in memory as they are written.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/columns.hpp"
#include "experiments/table_sink.hpp"

namespace gangway::python {

// jobs.csv: times in ns; NaN where a job did not begin or end. Whole numbers stay exact in a double, as times
// are below 100 days. The cells of swept parameters are left out: the point decides them.
class JobColumns {
 public:
  // `swept`: how many cells stand for swept parameters.
  explicit JobColumns(std::size_t swept) : swept_(swept) {}
  void add(std::string_view lines);
  nb::dict take();

 private:
  void add_line(std::string_view line);

  std::size_t swept_;
  std::vector<std::int64_t> point_, replication_, permutation_, job_, arrival_, standalone_, evictions_,
      launches_, priority_;
  std::vector<double> start_, finish_, response_, ntt_;
  Texts policy_, client_, outcome_;
};

class CollectedTables : public TableSink {
 public:
  // `swept`: as JobColumns has it. Jobs may be very many; without `keep_jobs` there are none here.
  CollectedTables(std::size_t swept, bool keep_jobs) : keep_jobs_(keep_jobs), jobs_(swept) {}
  void row(ResultTable table, std::uint32_t point, const std::string& policy, const std::string& client,
           const Row& cells) override;
  void jobs(std::string_view lines) override {
    if (keep_jobs_) jobs_.add(lines);
  }
  void published(const Row& cells) override { published_.add(cells); }

  // summary, clients, services, replications, service_replications: {point, policy, client, cells: [(name,
  // column)]}; jobs: {name: column}; published: [(name, column)]. Texts that repeat are (codes, names). The
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
