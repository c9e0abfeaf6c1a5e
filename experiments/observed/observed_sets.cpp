#include "experiments/observed/observed_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/results/files.hpp"
#include "experiments/results/row.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/error.hpp"
#include "models/fit/location.hpp"
#include "models/input/table.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

constexpr const char* kSetColumns = "set,seed,form,tasks,U,jobs,largest_ratio,assumptions,violated,why";
constexpr const char* kTaskColumns = "set,task,bound,bound_ns,observed_ns,ratio,pattern,job";
constexpr const char* kAssumptionColumns = "set,assumption,task,measured_ns,allowed_ns";

// A table that is whole at any time: rows of sets that are done.
struct Rows {
  std::filesystem::path file;
  std::string text;

  Rows(std::filesystem::path where, const char* columns) : file(std::move(where)) {
    text = std::string(columns) + "\n";
  }
  // Rows of these sets alone: the last one begun may have some here and none in sets.csv.
  void take_up(const std::set<std::uint32_t>& done) {
    if (!std::filesystem::exists(file)) return;
    Table table(file);
    const auto set = table.column("set");
    while (table.next()) {
      if (done.count(table.index(set)) == 0) continue;
      for (std::size_t c = 0; c < table.columns().size(); ++c)
        text += fmt::format("{}{}", c == 0 ? "" : ",", table.text(c));
      text += "\n";
    }
  }
  void write() const { write_file(file, text); }
};

std::set<std::uint32_t> sets_of(const std::filesystem::path& file) {
  std::set<std::uint32_t> done;
  if (!std::filesystem::exists(file)) return done;
  Table table(file);
  const auto set = table.column("set");
  while (table.next()) done.insert(table.index(set));
  return done;
}

std::uint64_t held_in(const std::filesystem::path& file) {
  std::uint64_t held = 0;
  if (!std::filesystem::exists(file)) return held;
  Table table(file);
  const auto assumptions = table.column("assumptions");
  while (table.next()) held += table.text(assumptions) == "held" ? 1 : 0;
  return held;
}

const char* form_of(const TaskSet& set) {
  const auto* owners = std::get_if<OwningTasks>(&set.tasks);
  if (owners == nullptr) return "queue";
  return owners->quantum ? "round-robin" : "fixed-priority";
}

// No commas in cells: what a person is told has some.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

void refuse_other(const std::filesystem::path& folder, const std::string& request) {
  const std::filesystem::path said = folder / "request.txt";
  if (std::filesystem::exists(said)) {
    if (read_file(said) != request + "\n")
      throw InputError({folder.string(), 0}, "--out", "results of another request",
                       "a new folder, or the request in request.txt");
    return;
  }
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder))
    throw InputError({folder.string(), 0}, "--out", "a folder with other files", "a new folder");
  make_folder(folder / "sets");
  write_file(said, request + "\n");
}

// From the files alone, so that it says the same of a folder that is gone on with.
ObservedSets summary_of(const std::filesystem::path& folder) {
  ObservedSets out;
  std::set<std::uint32_t> held;
  Table sets(folder / "sets.csv");
  const auto set = sets.column("set"), assumptions = sets.column("assumptions"),
             violated = sets.column("violated"), why = sets.column("why");
  while (sets.next()) {
    ++out.sets;
    const bool holds = sets.text(assumptions) == "held", above = sets.text(violated) == "yes";
    if (holds) held.insert(sets.index(set));
    if (above && holds && out.violated == 0)
      out.first_violated = fmt::format("set {}: {}", sets.text(set), sets.text(why));
    (holds ? out.violated : out.above) += above ? 1 : 0;
  }
  out.held = held.size();
  std::vector<double> ratios;
  Table tasks(folder / "tasks.csv");
  const auto of = tasks.column("set"), ratio = tasks.column("ratio");
  while (tasks.next()) {
    ++out.tasks;
    if (held.count(tasks.index(of)) == 0) continue;
    if (const auto value = tasks.number(ratio)) ratios.push_back(*value);
  }
  if (ratios.empty()) return out;
  out.p50 = nearest_rank(ratios, 0.5);
  out.p90 = nearest_rank(ratios, 0.9);
  out.p99 = nearest_rank(ratios, 0.99);
  out.largest = nearest_rank(ratios, 1);
  return out;
}

}  // namespace

ObservedSets observe_sets(const DrawnSets& drawn, std::uint64_t count, std::optional<std::uint64_t> enough,
                          const ObserveOptions& options, const std::string& request,
                          const std::filesystem::path& folder,
                          const std::function<void(const std::string&)>& progress,
                          const std::atomic<bool>& stop) {
  refuse_other(folder, request);
  Rows sets(folder / "sets.csv", kSetColumns), tasks(folder / "tasks.csv", kTaskColumns),
      assumptions(folder / "assumptions.csv", kAssumptionColumns);
  const auto done = sets_of(sets.file);
  for (Rows* rows : {&sets, &tasks, &assumptions}) rows->take_up(done);
  std::uint64_t held = held_in(sets.file);
  for (std::uint64_t number = 0; number < count && !stop && !(enough && held >= *enough); ++number) {
    if (done.count(static_cast<std::uint32_t>(number)) != 0) continue;
    const TaskSet set = drawn.draw(number);
    write_file(folder / "sets" / (set.name + ".yaml"), to_yaml(set));
    const BoundReport bounds = bound_with_costs(set);
    ObserveOptions of_set = options;
    of_set.seed = Stream(options.seed, "observed set", {number}).next() >> 1;
    const ObservedResponses seen = observe_responses(set, of_set, stop);
    if (seen.interrupted) break;
    const Judgement judged = judge(set, bounds, seen);
    double largest = 0;
    for (std::size_t i = 0; i < seen.tasks.size(); ++i) {
      const Rational bound = nanoseconds(set, *bounds.tightest(i));
      largest = std::max(largest, judged.ratios[i].value_or(0));
      const auto& task = seen.tasks[i];
      tasks.text += fmt::format("{},{},{},{},{},{},{},{}\n", number, bounds.tasks[i].name,
                                bounds.bounds[*bounds.tasks[i].tightest].bound->name, to_text(bound.number()),
                                task ? std::to_string(task->response.ns) : "",
                                judged.ratios[i] ? to_text(*judged.ratios[i]) : "", task ? task->pattern : "",
                                task ? std::to_string(task->job) : "");
    }
    for (const Assumption& a : seen.assumptions.all())
      assumptions.text += fmt::format("{},{},{},{},{}\n", number, a.name, a.task, a.measured, a.allowed);
    const std::string row = fmt::format(
        "{},{},{},{},{},{},{},{},{},{}", number, of_set.seed, form_of(set), seen.tasks.size(),
        bounds.utilisation ? to_text(bounds.utilisation->number()) : "", seen.jobs, to_text(largest),
        judged.unmet.empty() ? "held" : "not-held", judged.violated.empty() ? "no" : "yes",
        cell(judged.unmet + (judged.unmet.empty() || judged.violated.empty() ? "" : "; ") + judged.violated));
    sets.text += row + "\n";
    tasks.write();
    assumptions.write();
    sets.write();  // last: with it the set is done
    held += judged.unmet.empty() ? 1 : 0;
    progress(row);
  }
  for (const Rows* rows : {&tasks, &assumptions, &sets}) rows->write();
  ObservedSets out = summary_of(folder);
  out.interrupted = stop;
  return out;
}

}  // namespace gangway
