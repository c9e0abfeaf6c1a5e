#include "analysis/core/collected_tables.hpp"

#include <charconv>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace gangway::python {
namespace {

// The next field of a line of CSV; the line begins behind it afterwards.
std::string_view next_field(std::string_view& line, std::string& unquoted) {
  if (!line.starts_with('"')) {
    const std::size_t end = std::min(line.find(','), line.size());
    const std::string_view field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return field;
  }
  unquoted.clear();
  std::size_t at = 1;
  for (; at < line.size(); ++at) {
    if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
    if (line[at] == '"') ++at;
    unquoted += line[at];
  }
  line.remove_prefix(std::min(at + 2, line.size()));
  return unquoted;
}

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

void JobColumns::add(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    add_line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

// As job_columns() (experiments/unit.hpp) orders them.
void JobColumns::add_line(std::string_view line) {
  std::string unquoted;
  const auto whole = [&] { return number_of<std::int64_t>(next_field(line, unquoted)); };
  const auto or_none = [&] { return number_or_none(next_field(line, unquoted)); };
  point_.push_back(whole());
  policy_.add(next_field(line, unquoted));
  for (std::size_t cell = 0; cell < swept_; ++cell) next_field(line, unquoted);
  replication_.push_back(whole());
  permutation_.push_back(whole());
  client_.add(next_field(line, unquoted));
  job_.push_back(whole());
  arrival_.push_back(whole());
  start_.push_back(or_none());
  finish_.push_back(or_none());
  standalone_.push_back(whole());
  response_.push_back(or_none());
  ntt_.push_back(or_none());
  evictions_.push_back(whole());
  launches_.push_back(whole());
  outcome_.add(next_field(line, unquoted));
  priority_.push_back(whole());
}

nb::dict JobColumns::take() {
  nb::dict out;
  out["point"] = array_of(std::move(point_));
  out["policy"] = policy_.take();
  out["replication"] = array_of(std::move(replication_));
  out["permutation"] = array_of(std::move(permutation_));
  out["client"] = client_.take();
  out["job"] = array_of(std::move(job_));
  out["arrival_ns"] = array_of(std::move(arrival_));
  out["start_ns"] = array_of(std::move(start_));
  out["finish_ns"] = array_of(std::move(finish_));
  out["standalone_ns"] = array_of(std::move(standalone_));
  out["response_ns"] = array_of(std::move(response_));
  out["ntt"] = array_of(std::move(ntt_));
  out["evictions"] = array_of(std::move(evictions_));
  out["launches"] = array_of(std::move(launches_));
  out["outcome"] = outcome_.take();
  out["priority"] = array_of(std::move(priority_));
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
