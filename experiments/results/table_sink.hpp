// Receives the rows of result tables as they are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/results/row.hpp"

namespace gangway {

enum class ResultTable { summary, clients, services, replications, service_replications };

class TableSink {
 public:
  virtual ~TableSink() = default;
  // In file order, all tables of a point and policy before the next. `client`: empty in ResultTable::summary
  // and ResultTable::replications. A failed group has one summary row whose only cell is `error`.
  virtual void row(ResultTable table, std::uint32_t point, const std::string& policy,
                   const std::string& client, const Row& cells) = 0;
  // Any number of complete lines of jobs.csv.
  virtual void jobs(std::string_view lines) = 0;
  // A published value, after all rows.
  virtual void published(const Row& cells) = 0;
};

}  // namespace gangway
