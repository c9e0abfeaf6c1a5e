#include "experiments/metrics/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/metrics/samples.hpp"
#include "experiments/results/bounded_value.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

struct Catalogued {
  const Metric* metric;
  bool interval, always;
  const char* kind;  // of its cells
};

template <typename Sample>
std::vector<Catalogued> catalogued() {
  std::vector<Catalogued> all;
  for (const MetricOf<Sample>& entry : Metrics<MetricOf<Sample>>::all())
    all.push_back({&entry.about, static_cast<bool>(entry.ci95), !entry.is_there,
                   entry.about.is_number() ? "number" : "text"});
  return all;
}

std::vector<Catalogued> catalogued_jobs() {
  std::vector<Catalogued> all;
  for (const JobMetric& entry : Metrics<JobMetric>::all()) {
    const bool whole = entry.kind == JobMetric::Kind::whole;
    all.push_back({&entry.about, false, true,
                   whole                                 ? "whole"
                   : entry.kind == JobMetric::Kind::text ? "text"
                                                         : "number"});
  }
  return all;
}

std::vector<Catalogued> catalogued(Level level) {
  switch (level) {
    case Level::point:
      return catalogued<PointSample>();
    case Level::client:
      return catalogued<ClientSample>();
    case Level::service:
      return catalogued<ServiceSample>();
    case Level::job:
      return catalogued_jobs();
  }
  return {};
}

struct LevelNames {
  Level level;
  const char* name;
  const char* file;
};
constexpr LevelNames kLevels[] = {{Level::point, "point", "summary.csv"},
                                  {Level::client, "client", "clients.csv"},
                                  {Level::service, "service", "services.csv"},
                                  {Level::job, "job", "jobs.csv"}};

const char* name_of(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::ns:
      return "ns";
    case MetricUnit::per_second:
      return "/s";
    case MetricUnit::share:
      return "share";
    case MetricUnit::ratio:
      return "ratio";
    case MetricUnit::count:
      return "count";
    case MetricUnit::text:
      return "text";
  }
  return "";
}

const char* name_of(Better better) {
  return better == Better::neither ? "neither" : better == Better::lower ? "lower" : "higher";
}

}  // namespace

std::vector<const Metric*> metrics_of(Level level) {
  std::vector<const Metric*> all;
  for (const Catalogued& entry : catalogued(level)) all.push_back(entry.metric);
  return all;
}

const Metric* find_metric(Level level, std::string_view name) {
  for (const Metric* metric : metrics_of(level))
    if (metric->name == name) return metric;
  return nullptr;
}

const Metric& metric_of(Level level, std::string_view name) {
  const Metric* const metric = find_metric(level, name);
  if (metric == nullptr) throw std::logic_error("no metric '" + std::string(name) + "'");
  return *metric;
}

std::vector<std::string> metric_names(Level level, bool (*which)(const Metric&)) {
  std::vector<std::string> names;
  for (const Metric* metric : metrics_of(level))
    if (which(*metric)) names.push_back(metric->name);
  return names;
}

std::vector<std::string> point_metrics() {
  return metric_names(Level::point, [](const Metric& m) { return m.is_number(); });
}

std::vector<std::string> client_metrics() {
  std::vector<std::string> names;
  for (const Level level : {Level::client, Level::service})
    for (const Metric* metric : metrics_of(level))
      if (metric->is_number() && std::find(names.begin(), names.end(), metric->name) == names.end())
        names.push_back(metric->name);
  return names;
}

bool is_time_metric(std::string_view column) {
  if (column.ends_with("_ci95")) column.remove_suffix(5);
  for (const Level level : {Level::point, Level::client, Level::service})
    if (const Metric* metric = find_metric(level, column)) return metric->unit == MetricUnit::ns;
  return false;
}

Json metrics_json() {
  Json list = Json::array();
  for (const auto& [level, level_name, file] : kLevels)
    for (const auto& [metric, interval, always, kind] : catalogued(level)) {
      Json item{{"name", metric->name},
                {"level", level_name},
                {"file", file},
                {"label", metric->label},
                {"unit", name_of(metric->unit)},
                {"kind", kind},
                {"better", name_of(metric->better)},
                {"summary", metric->meaning}};
      item["interval"] = interval;
      item["always"] = always;
      item["if_understated"] = name_of(metric->if_understated);
      item["if_unfinished"] = name_of(metric->if_unfinished);
      item["ranked"] = metric->ranked;
      item["compared"] = metric->compared;
      item["tested"] = metric->tested;
      list.push_back(std::move(item));
    }
  return list;
}

}  // namespace gangway
