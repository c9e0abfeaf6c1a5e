#include "models/bounds/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/bounds/one_shot.hpp"
#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

std::optional<Unmet> beyond_channels(std::size_t streams, std::int64_t channels) {
  const auto count = static_cast<std::int64_t>(streams);
  if (count <= channels) return std::nullopt;
  return Unmet{"a channel for each stream",
               {{"streams", Rational(count), ""}, {"channels", Rational(channels), ""}}};
}

// What no theorem here covers, whatever it needs otherwise.
std::optional<Unmet> outside_model(const SporadicTasks& set) {
  if (auto why = beyond_channels(set.tasks.size(), set.channels)) return why;
  if (set.priorities) return Unmet{"no stream priorities", {}};
  return std::nullopt;
}

std::optional<Unmet> not_proven(const Bound& bound, const SporadicTasks& set) {
  if (auto why = outside_model(set)) return why;
  if (!bound.on_multiprocessors && set.layout.kind == ThreadLayout::Kind::sm)
    return Unmet{"layout: pool, because it is not proven for multiprocessors", {}};
  if (std::find(bound.orders.begin(), bound.orders.end(), set.order) != bound.orders.end())
    return std::nullopt;
  std::vector<std::string> orders;
  for (const QueueOrder order : bound.orders) orders.push_back(name_of(order));
  return Unmet{fmt::format("order: {}, because it is not proven for {}", fmt::join(orders, " or "),
                           name_of(set.order)),
               {}};
}

void scale_down(Unmet& why, const Rational& scale) {
  for (Figure& number : why.numbers)
    if (number.time) number.value = number.value / scale;
}

void scale_down(BoundResult& result, const Rational& scale) {
  if (scale == Rational(1)) return;
  for (BoundOrUnmet& task : result.tasks)
    if (auto* bound = std::get_if<Rational>(&task))
      *bound = *bound / scale;
    else
      scale_down(std::get<Unmet>(task), scale);
  for (Figure& figure : result.figures)
    if (figure.time) figure.value = figure.value / scale;
}

void fill(BoundReport& report, const SporadicTasks& set) {
  const SporadicAnalysis analysis(set);
  report.threads = set.layout.total();
  report.utilisation = analysis.utilisation();
  report.least_busy = analysis.least_busy();
  for (const auto& task : analysis.tasks()) report.tasks.push_back({task.name, task.u, task.M, std::nullopt});
  for (const Bound& bound : Bounds::all()) {
    const auto* compute = std::get_if<ComputeSporadic>(&bound.compute);
    if (compute == nullptr) continue;
    const auto why = not_proven(bound, set);
    BoundResult result = why ? nowhere(analysis.size(), *why) : (*compute)(analysis);
    if (!why) scale_down(result, analysis.scale());
    report.bounds.push_back({&bound, std::move(result)});
  }
}

void fill(BoundReport& report, const OneShotKernels& set) {
  const OneShotAnalysis analysis(set);
  report.threads = set.layout.total();
  report.least_busy = analysis.least_busy();
  for (const OneShotStream& stream : set.streams)
    for (const OneShotKernel& kernel : stream.kernels)
      report.tasks.push_back({kernel.name, std::nullopt, std::nullopt, std::nullopt});
  const auto why = beyond_channels(set.streams.size(), set.channels);
  for (const Bound& bound : Bounds::all())
    if (const auto* compute = std::get_if<ComputeOneShot>(&bound.compute))
      report.bounds.push_back({&bound, why ? nowhere(analysis.kernels(), *why) : (*compute)(analysis)});
}

void fill(BoundReport& report, const OwningTasks& set) {
  Rational total;
  bool periodic = true;
  for (const OwningTask& task : set.tasks) {
    std::optional<Rational> u;
    if (task.period) u = task.run / *task.period;
    if (u) total += *u;
    periodic = periodic && u;
    report.tasks.push_back({task.name, std::move(u), std::nullopt, std::nullopt});
  }
  if (periodic) report.utilisation = std::move(total);
  for (const Bound& bound : Bounds::all())
    if (const auto* compute = std::get_if<ComputeOwning>(&bound.compute))
      report.bounds.push_back({&bound, (*compute)(set)});
}

// The first of equal ones: the name that sorts first.
void find_tightest(BoundReport& report) {
  for (std::size_t i = 0; i < report.tasks.size(); ++i)
    for (std::size_t b = 0; b < report.bounds.size(); ++b) {
      const auto* bound = std::get_if<Rational>(&report.bounds[b].result.tasks[i]);
      if (bound != nullptr && (report.tightest(i) == nullptr || *bound < *report.tightest(i)))
        report.tasks[i].tightest = b;
    }
}

using Json = nlohmann::ordered_json;

Json json_of(const Rational& value) { return {{"exact", value.text()}, {"value", value.number()}}; }

Json json_of(const Figure& figure) {
  Json json{{"name", figure.name}};
  if (!figure.of.empty()) json["of"] = figure.of;
  json.update(json_of(figure.value));
  return json;
}

Json json_of(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& figure : figures) list.push_back(json_of(figure));
  return list;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<T, Rational>)
    return json_of(*value);
  else
    return *value;
}

Json json_of(const AppliedBound& applied, std::size_t i) {
  const BoundOrUnmet& bound = applied.result.tasks[i];
  Json json{{"bound", applied.bound->name}};
  if (const auto* value = std::get_if<Rational>(&bound)) {
    json.update(json_of(*value));
    if (const std::string* how = BoundReport::looser(applied, i)) json["looser"] = *how;
  } else {
    const Unmet& why = std::get<Unmet>(bound);
    json["needs"] = why.condition;
    json["but"] = json_of(why.numbers);
  }
  return json;
}

Json json_of_task(const BoundReport& report, std::size_t i) {
  const BoundedTask& task = report.tasks[i];
  Json json{{"name", task.name}, {"u", or_null(task.utilisation)}, {"M_h", or_null(task.busy_while_blocked)}};
  json["tightest"] = nullptr;
  if (task.tightest) {
    json["tightest"] = json_of(report.bounds[*task.tightest], i);
  }
  json["stopped"] = report.stopped(i);
  json["bounds"] = Json::array();
  for (const AppliedBound& applied : report.bounds) json["bounds"].push_back(json_of(applied, i));
  return json;
}

}  // namespace

const Unmet* BoundReport::refused(const AppliedBound& applied) {
  const auto& tasks = applied.result.tasks;
  const bool same =
      std::holds_alternative<Unmet>(tasks.front()) &&
      std::all_of(tasks.begin(), tasks.end(), [&](const auto& t) { return t == tasks.front(); });
  return same ? &std::get<Unmet>(tasks.front()) : nullptr;
}

const Rational* BoundReport::tightest(std::size_t task) const {
  const auto& which = tasks[task].tightest;
  return which ? &std::get<Rational>(bounds[*which].result.tasks[task]) : nullptr;
}

const std::string* BoundReport::looser(const AppliedBound& applied, std::size_t task) {
  const auto found = applied.result.looser.find(task);
  return found != applied.result.looser.end() ? &found->second : nullptr;
}

bool BoundReport::stopped(const AppliedBound& applied, std::size_t task) {
  const auto* why = std::get_if<Unmet>(&applied.result.tasks[task]);
  return why != nullptr ? why->stopped : looser(applied, task) != nullptr;
}

std::vector<std::string> BoundReport::stopped(std::size_t task) const {
  std::vector<std::string> names;
  for (const AppliedBound& applied : bounds)
    if (stopped(applied, task)) names.push_back(applied.bound->name);
  return names;
}

BoundReport bound_responses(const TaskSet& set) {
  BoundReport report;
  std::visit([&](const auto& tasks) { fill(report, tasks); }, set.tasks);
  find_tightest(report);
  return report;
}

void check_observation(const BoundReport& report, std::size_t task, const Rational& seen) {
  for (const AppliedBound& applied : report.bounds) {
    const auto* bound = std::get_if<Rational>(&applied.result.tasks[task]);
    if (bound != nullptr && seen > *bound)
      throw RunError(
          fmt::format("a response of {} was seen to be {}, above {}, which {} says it cannot exceed: "
                      "the theorem or its program is wrong",
                      report.tasks[task].name, seen.text(), bound->text(), applied.bound->name));
  }
}

nlohmann::ordered_json to_json(const TaskSet& set, const BoundReport& report) {
  Json json{{"name", set.name}, {"unit", set.unit}};
  json["m"] = or_null(report.threads);
  json["U"] = or_null(report.utilisation);
  json["M*"] = or_null(report.least_busy);
  json["bounds"] = Json::array();
  for (const AppliedBound& applied : report.bounds)
    json["bounds"].push_back({{"name", applied.bound->name},
                              {"summary", applied.bound->summary},
                              {"figures", json_of(applied.result.figures)}});
  json["tasks"] = Json::array();
  for (std::size_t i = 0; i < report.tasks.size(); ++i) json["tasks"].push_back(json_of_task(report, i));
  return json;
}

}  // namespace gangway
