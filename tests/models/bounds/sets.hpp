// Task sets written as (w, T, g, b), and what the bounds say of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/bounds/report.hpp"

namespace gangway::testing {

struct TaskRow {
  Rational w, T;
  std::int64_t g = 1, b = 1;
};

// Tasks are named t1, t2, ...
TaskSet sporadic(const ThreadLayout& layout, const std::vector<TaskRow>& rows,
                 QueueOrder order = QueueOrder::became_head);
inline ThreadLayout pool_layout(std::int64_t m) { return {ThreadLayout::Kind::pool, 1, m}; }
inline ThreadLayout multiprocessors(std::int64_t sms, std::int64_t threads) {
  return {ThreadLayout::Kind::sm, sms, threads};
}

// Thirteen small sets, A to M, on one pool of m threads; and the largest response of each task over all whole
// offsets and all orders at ties, strictly periodic and with full block times.
struct KnownSet {
  std::string name;
  std::int64_t m;
  std::vector<TaskRow> rows;
  std::vector<std::int64_t> largest;
};
const std::vector<KnownSet>& thirteen_sets();

// One text per task: the bound as a fraction, or "-".
std::vector<std::string> bounds(const BoundReport& report, const std::string& name);
// Likewise of the tightest.
std::vector<std::string> tightest(const BoundReport& report);
// What a bound needs that the task does not have; empty when the bound applies.
std::string needs(const BoundReport& report, const std::string& name, std::size_t task = 0);
std::optional<Rational> figure(const BoundReport& report, const std::string& bound, const std::string& name);

}  // namespace gangway::testing
