// Who is told the rows of a result's tables as they are written, beside the files.
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
  // In the order of the files, all tables of a point and policy before the next. `client`: empty in
  // ResultTable::summary and ResultTable::replications. Of a group that failed there is a row of the summary
  // whose only cell is `error`.
  virtual void row(ResultTable table, std::uint32_t point, const std::string& policy,
                   const std::string& client, const Row& cells) = 0;
  // Lines of jobs.csv, any number of whole ones.
  virtual void jobs(std::string_view lines) = 0;
  // A value that was published, after all rows.
  virtual void published(const Row& cells) = 0;
};

}  // namespace gangway
