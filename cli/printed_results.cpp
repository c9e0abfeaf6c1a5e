#include "cli/printed_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "experiments/metrics/catalogue.hpp"
#include "experiments/results/bounded_value.hpp"
#include "models/input/table.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

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
  fmt::print("{:>5}  {:<{}} {:>16} {:>16} {:>16} {:>10} {:>7} {:>10}", "point", "policy", width,
             heading("antt"), heading("dntt"), heading("stp"), heading("evictions"), heading("utilisation"),
             heading("unfinished"));
  for (const SweptPath& swept : experiment.points.sweep().paths()) fmt::print("  {}", swept.path());
  fmt::print("\n");
  for (const ReportedRow& reported : report.findings.rows) {
    const Row& row = reported.summary;
    const std::string starved = reported.error.empty() ? cell(row, "starved").text() : "";
    fmt::print("{:>5}  {:<{}} {:>16} {:>16} {:>16} {:>10} {:>7} {:>10}", reported.point, reported.policy,
               width, starved.empty() ? with_interval(row, "antt") : "starved", with_interval(row, "dntt"),
               with_interval(row, "stp"), shown(row, "evictions"), shown(row, "utilisation"),
               count(row, "unfinished"));
    for (const std::string& value : reported.values) fmt::print("  {}", value);
    if (!starved.empty()) fmt::print("  finished nothing in some run: {}", starved);
    if (const std::string understated = cell(row, "understated").text(); !understated.empty())
      fmt::print("  bounds, as jobs are unfinished or killed: {}", understated);
    fmt::print("{}\n", reported.error.empty() ? "" : "  failed");
  }
  if (report.findings.rows.size() < report.groups)
    fmt::print("  ... {} more rows in summary.csv\n", report.groups - report.findings.rows.size());
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

constexpr std::size_t kMostPrintedRows = 60;

}  // namespace

void print_results(const Experiment& experiment, const RunReport& report) {
  print_table(experiment, report);
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
