#include "experiments/results/scheduler_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quantity.hpp"

namespace gangway {

void SchedulerAccount::add(const Row& summary) {
  const Cell& late = cell(summary, "too_late");
  if (late.empty()) return;
  const auto raise = [&](double& most, const char* column) {
    most = std::max(most, cell(summary, column).number().value_or(0));
  };
  ++rows_;
  too_late_ += late.text() == "yes" ? 1 : 0;
  raise(p50_, "scheduler_late_ns_p50");
  raise(p99_, "scheduler_late_ns_p99");
  raise(most_, "scheduler_late_ns_max");
  raise(off_cpu_, "scheduler_off_cpu");
}

nlohmann::ordered_json SchedulerAccount::json() const {
  if (empty()) return nullptr;
  return {{"late_ns", {{"p50", p50_}, {"p99", p99_}, {"max", most_}}},
          {"off_cpu", off_cpu_},
          {"too_late", too_late_},
          {"rows", rows_}};
}

std::string SchedulerAccount::warning() const {
  if (too_late_ == 0) return "";
  return fmt::format(
      "the scheduler was too late in {} of {} rows (column too_late): the 99th percentile of its lateness is "
      "up to {}, more than {:.0f} % of the shortest job; it had no processor for up to {:.0f} % of a run",
      too_late_, rows_, to_text(Duration{std::llround(p99_)}), kTooLate * 100, off_cpu_ * 100);
}

}  // namespace gangway
