#include "analysis/core/collected_tables.hpp"

#include <charconv>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "models/input/table.hpp"

namespace gangway::python {
namespace {

template <typename Value>
Value number_of(std::string_view field) {
  Value value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size())
    throw std::logic_error("a row of jobs with '" + std::string(field) + "' for a number");
  return value;
}

double number_or_none(std::string_view field) {
  return field.empty() ? std::numeric_limits<double>::quiet_NaN() : number_of<double>(field);
}

}  // namespace

JobColumns::JobColumns(const std::vector<JobField>& fields) {
  for (const JobField& field : fields) {
    columns_.push_back({field.name, field.kind, {}, {}, {}});
    header_ += (header_.empty() ? "" : ",") + csv_field(field.name);
  }
  header_ += "\n";
}

void JobColumns::add(std::string_view lines) {
  using Kind = JobMetric::Kind;
  Table table("jobs.csv", header_ + std::string(lines));
  while (table.next())
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      Column& column = columns_[c];
      if (!column.kind) continue;
      const std::string_view field = table.text(c);
      if (column.kind == Kind::whole)
        column.whole.push_back(number_of<std::int64_t>(field));
      else if (column.kind == Kind::number)
        column.numbers.push_back(number_or_none(field));
      else
        column.texts.add(field);
    }
}

nb::dict JobColumns::take() {
  using Kind = JobMetric::Kind;
  nb::dict out;
  for (Column& column : columns_)
    if (column.kind)
      out[column.name.c_str()] = column.kind == Kind::whole    ? array_of(std::move(column.whole))
                                 : column.kind == Kind::number ? array_of(std::move(column.numbers))
                                                               : column.texts.take();
  return out;
}

void CollectedTables::row(ResultTable table, std::uint32_t point, const std::string& policy,
                          const std::string& client, const Row& cells) {
  Table& of = tables_[static_cast<std::size_t>(table)];
  of.point.push_back(point);
  of.policy.add(policy);
  of.client.add(client);
  of.cells.add(cells);
}

nb::dict CollectedTables::take() {
  nb::dict out;
  const char* const names[] = {"summary", "clients", "services", "replications", "service_replications"};
  for (std::size_t t = 0; t < std::size(names); ++t) {
    nb::dict table;
    table["point"] = array_of(std::move(tables_[t].point));
    table["policy"] = tables_[t].policy.take();
    table["client"] = tables_[t].client.take();
    table["cells"] = tables_[t].cells.take();
    out[names[t]] = table;
  }
  out["jobs"] = jobs_.take();
  out["published"] = published_.take();
  return out;
}

}  // namespace gangway::python
