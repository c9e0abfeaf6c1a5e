#include "experiments/studies/study_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/metrics/statistics.hpp"

namespace gangway {
namespace {

constexpr int kBins = 50;  // of ratios from 0 to 1

// A share and its interval.
template <typename Hit>
std::string share(const std::vector<JudgedSet>& sets, Hit hit) {
  const std::int64_t hits = std::count_if(sets.begin(), sets.end(), hit);
  const auto n = static_cast<std::int64_t>(sets.size());
  const ShareInterval interval = wilson_95(hits, n);
  return fmt::format("{},{},{}", to_text(static_cast<double>(hits) / static_cast<double>(n)),
                     to_text(interval.low), to_text(interval.high));
}

std::string summary_of(const std::vector<JudgedSet>& sets) {
  std::string text = fmt::format("{},{}", sets.size(), share(sets, [](const auto& s) { return s.proven(); }));
  if (!sets.front().met) return text + ",,,,,,,";
  text += "," + share(sets, [](const auto& s) { return *s.met; });
  text += "," + share(sets, [](const auto& s) { return !s.proven() && *s.growing; });
  const auto unknown =
      std::count_if(sets.begin(), sets.end(), [](const auto& s) { return !s.proven() && !*s.growing; });
  return text + "," + to_text(static_cast<double>(unknown) / static_cast<double>(sets.size()));
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(rank_of(share, std::ssize(sorted)) - 1)];
}

std::vector<double> ratios_of(const std::vector<JudgedSet>& sets, std::size_t bound) {
  std::vector<double> all;
  for (const JudgedSet& set : sets)
    all.insert(all.end(), set.bounds[bound].ratios.begin(), set.bounds[bound].ratios.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::string bound_of(const std::vector<JudgedSet>& sets, std::size_t bound,
                     const std::vector<double>& ratios) {
  std::string text = fmt::format("{},{}", sets.front().bounds[bound].bound, sets.size());
  text += "," + share(sets, [&](const auto& s) { return s.bounds[bound].all; });
  text += "," + share(sets, [&](const auto& s) { return s.bounds[bound].in_time; });
  text += fmt::format(",{}", ratios.size());
  for (const double share : {0.05, 0.5, 0.95, 1.0})
    text += "," + (ratios.empty() ? "" : to_text(percentile(ratios, share)));
  std::int64_t stopped = 0;
  for (const JudgedSet& set : sets) stopped += set.bounds[bound].stopped;
  return text + fmt::format(",{}", stopped);
}

std::string bins_of(const std::string& key, const std::string& bound, const std::vector<double>& ratios) {
  std::map<int, int> counts;
  for (const double ratio : ratios) ++counts[std::min(kBins - 1, static_cast<int>(ratio * kBins))];
  std::string text;
  for (const auto& [bin, count] : counts)
    text += fmt::format("{},{},{},{},{}\n", key, bound, to_text(static_cast<double>(bin) / kBins),
                        to_text(static_cast<double>(bin + 1) / kBins), count);
  return text;
}

}  // namespace

std::string header_of(const StudyFile& file, const Study& study) {
  return fmt::format("point,order{},{}\n", study.sweep.columns(), file.columns);
}

StudyRows rows_of(const Study& study, std::uint32_t point, const std::string& order,
                  const std::vector<JudgedSet>& sets) {
  const std::string key = fmt::format("{},{}{}", point, order, study.sweep.cells(point));
  StudyRows rows;
  rows[0] = fmt::format("{},{}\n", key, summary_of(sets));
  // All sets of a study have one form, so the same bounds in the same order.
  for (std::size_t b = 0; b < sets.front().bounds.size(); ++b) {
    const std::vector<double> ratios = ratios_of(sets, b);
    rows[1] += fmt::format("{},{}\n", key, bound_of(sets, b, ratios));
    rows[2] += bins_of(key, sets.front().bounds[b].bound, ratios);
  }
  for (const JudgedSet& set : sets)
    for (std::size_t at = 0; at < set.rows.size();) {
      const std::size_t end = set.rows.find('\n', at) + 1;
      rows[3] += key + "," + set.rows.substr(at, end - at);
      at = end;
    }
  return rows;
}

}  // namespace gangway
