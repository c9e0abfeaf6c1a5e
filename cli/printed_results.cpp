#include "cli/printed_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "experiments/metrics/catalogue.hpp"
#include "experiments/results/bounded_value.hpp"
#include "models/input/table.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostPrintedRows = 60;

std::string shown(const Row& row, const std::string& column) {
  const auto value = bounded_value(row, Level::point, column);
  return value ? fmt::format("{}{:.3f}", sign_of(value->certainty()), value->value) : "-";
}

std::string count(const Row& row, const std::string& column) {
  const auto value = cell(row, column).number();
  return value ? fmt::format("{:.0f}", *value) : "-";
}

std::string with_interval(const Row& row, const std::string& column) {
  const auto interval = cell(row, column + "_ci95").number();
  return interval ? fmt::format("{} +-{:.3f}", shown(row, column), *interval) : shown(row, column);
}

const std::string& heading(const char* column) { return metric_of(Level::point, column).short_label(); }

void print_table(const Experiment& experiment, const RunReport& report) {
  std::size_t width = 14;
  for (const ReportedRow& reported : report.findings.rows) width = std::max(width, reported.policy.size());
  fmt::print("{:>5}  {:<{}} {:>15} {:>15} {:>15} {:>9} {:>6} {:>10}", "point", "policy", width,
             heading("antt"), heading("dntt"), heading("stp"), heading("evictions"), heading("utilisation"),
             heading("unfinished"));
  for (const SweptPath& swept : experiment.points.sweep().paths()) fmt::print("  {}", swept.path());
  fmt::print("\n");
  for (const ReportedRow& reported : report.findings.rows) {
    const Row& row = reported.summary;
    const std::string starved = reported.error.empty() ? cell(row, "starved").text() : "";
    fmt::print("{:>5}  {:<{}} {:>15} {:>15} {:>15} {:>9} {:>6} {:>10}", reported.point, reported.policy,
               width, starved.empty() ? with_interval(row, "antt") : "starved", with_interval(row, "dntt"),
               with_interval(row, "stp"), shown(row, "evictions"), shown(row, "utilisation"),
               count(row, "unfinished"));
    for (const std::string& value : reported.values) fmt::print("  {}", value);
    fmt::print("{}\n", reported.error.empty() ? "" : "  failed");
    if (!starved.empty()) fmt::print("{:>7}finished nothing in some run: {}\n", "", starved);
    if (const std::string understated = cell(row, "understated").text(); !understated.empty())
      fmt::print("{:>7}bounds, as jobs are unfinished or killed: {}\n", "", understated);
  }
  if (report.findings.rows.size() < report.groups)
    fmt::print("  ... {} more rows in summary.csv\n", report.groups - report.findings.rows.size());
}

// Of the table of services, or of clients; `scale` into the column's unit.
std::string shown(const Row& row, Level level, const std::string& column, double scale,
                  const char* unit = "") {
  const auto value = bounded_value(row, level, column);
  if (!value) return "-";
  const double number = value->value * scale;
  return fmt::format("{}{:.{}f}{}", sign_of(value->certainty()), number,
                     *unit == '\0' && number >= 99.95 ? 0 : 2, unit);
}

struct ServiceColumn {
  std::string heading;
  std::function<std::string(const ReportedClient&)> text;
  std::size_t width = 0;
};

std::vector<ServiceColumn> service_columns(bool objectives) {
  constexpr double kMs = 1e-6;
  const auto of = [](Level level, const char* column, double scale, const char* unit = "") {
    return [=](const ReportedClient& client) {
      return shown(level == Level::client ? client.client : client.service, level, column, scale, unit);
    };
  };
  std::vector<ServiceColumn> columns{{"p50 (ms)", of(Level::service, "latency_ns_p50", kMs)},
                                     {"p99 (ms)", of(Level::service, "latency_ns_p99", kMs)}};
  if (objectives) {
    columns.push_back({"slo (ms)", of(Level::service, "slo_ns", kMs)});
    columns.push_back({"attained", of(Level::service, "attainment", 100, " %")});
  }
  columns.push_back({"jobs/s", of(Level::service, "throughput_per_s", 1)});
  columns.push_back({"slowdown", [slowdown = of(Level::client, "ntt", 1)](const ReportedClient& client) {
                       return cell(client.service, "starved_runs").number().value_or(0) > 0
                                  ? std::string("starved")
                                  : slowdown(client);
                     }});
  return columns;
}

// What each client is judged by, where services.csv has it.
void print_services(const RunReport& report) {
  std::size_t policy = 6, client = 6, rows = 0;
  bool objectives = false;
  for (const ReportedRow& reported : report.findings.rows)
    for (const ReportedClient& of : reported.clients) {
      policy = std::max(policy, reported.policy.size());
      client = std::max(client, of.name.size());
      objectives = objectives || !cell(of.service, "slo_ns").empty();
      ++rows;
    }
  if (rows == 0) return;
  std::vector<ServiceColumn> columns = service_columns(objectives);
  for (ServiceColumn& column : columns) {
    column.width = column.heading.size();
    for (const ReportedRow& reported : report.findings.rows)
      for (const ReportedClient& of : reported.clients)
        column.width = std::max(column.width, column.text(of).size());
  }
  fmt::print("\n{:>5}  {:<{}}  {:<{}}", "point", "policy", policy, "client", client);
  for (const ServiceColumn& column : columns) fmt::print("  {:>{}}", column.heading, column.width);
  fmt::print("\n");
  std::size_t printed = 0;
  for (const ReportedRow& reported : report.findings.rows)
    for (const ReportedClient& of : reported.clients) {
      if (printed++ >= kMostPrintedRows) continue;
      fmt::print("{:>5}  {:<{}}  {:<{}}", reported.point, reported.policy, policy, of.name, client);
      for (const ServiceColumn& column : columns) fmt::print("  {:>{}}", column.text(of), column.width);
      fmt::print("\n");
    }
  if (printed > kMostPrintedRows || report.findings.rows.size() < report.groups)
    fmt::print("  ... more rows in services.csv\n");
  fmt::print("\n");
}

void print_verdicts(const RunReport& report) {
  if (report.findings.verdicts.empty()) return;
  const auto count = [&](const char* verdict) {
    return std::count_if(report.findings.verdicts.begin(), report.findings.verdicts.end(),
                         [&](const Verdict& v) { return v.verdict == verdict; });
  };
  fmt::print("published values: {} pass, {} miss, {} follow from the input, {} shown\n", count("pass"),
             count("miss"), count("input"), count("shown"));
}

}  // namespace

void print_results(const Experiment& experiment, const RunReport& report) {
  print_table(experiment, report);
  print_services(report);
  print_verdicts(report);
  for (const std::string& warning : report.findings.warnings) to_stderr("{}\n", warning);
  if (const std::string warning = report.account.scheduler.warning(); !warning.empty())
    to_stderr("{}\n", warning);
}

int print_failures(const RunReport& report, const std::string& what_tries_again) {
  if (report.failed == 0) return 0;
  for (std::size_t i = 0; i < report.failures.size(); ++i) {
    const std::string all = report.failures[i].text();
    to_stderr("error: {}\n", i == 0 ? all : all.substr(0, all.find('\n')));
  }
  if (report.failed > report.failures.size())
    to_stderr("error: {} more in the column `error` of summary.csv\n",
              report.failed - report.failures.size());
  to_stderr("error: {} of {} results failed; {} tries these again\n", report.failed, report.groups,
            what_tries_again);
  return 1;
}

void print_study(const StudyReport& report) {
  Table table("summary.csv", report.summary);
  const std::vector<std::string>& names = table.columns();
  const std::size_t first_share = table.column("sets");
  const auto print_row = [&](const auto& text_of) {
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c].ends_with("_low") || names[c].ends_with("_high")) continue;
      const std::size_t width = std::max<std::size_t>(names[c].size(), names[c] == "order" ? 13 : 7);
      const std::string text = text_of(c);
      fmt::print("{}{:>{}}", c > 0 ? "  " : "", text.empty() ? "-" : text, width);
    }
    fmt::print("\n");
  };
  print_row([&](std::size_t c) { return names[c]; });
  for (std::size_t row = 0; table.next(); ++row) {
    if (row == kMostPrintedRows) return fmt::print("... more rows in summary.csv\n");
    print_row([&](std::size_t c) {
      if (c <= first_share || table.text(c).empty()) return std::string(table.text(c));
      return fmt::format("{:.3f}", *table.number(c));
    });
  }
}

}  // namespace gangway
