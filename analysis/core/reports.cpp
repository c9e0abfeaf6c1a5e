#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "analysis/core/interpreter_lock.hpp"
#include "analysis/core/interruption.hpp"
#include "analysis/core/parts.hpp"
#include "analysis/core/running.hpp"
#include "experiments/comparing/compare.hpp"
#include "experiments/comparing/differences.hpp"
#include "experiments/library/listing.hpp"
#include "experiments/studies/responses.hpp"
#include "experiments/timelines/chrome_trace.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/bounds/report.hpp"
#include "models/recording/file.hpp"
#include "models/taskset.hpp"

namespace gangway::python {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kBetweenLooks{100};  // for signals

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string compare(const std::string& prediction, const std::string& measurement,
                    const std::vector<std::string>& metrics) {
  const nb::gil_scoped_release others;
  const Comparison comparison = compare_folders(prediction, measurement);
  const auto differences = differences_between(comparison, metrics);
  Json json = to_json(comparison);
  json["differences"] = differences ? to_json(*differences) : Json();
  return text_of(json);
}

std::string compare_policies(const std::string& folder, const std::string& baseline,
                             const std::vector<std::string>& metrics) {
  const nb::gil_scoped_release others;
  return text_of(to_json(differences_to_baseline(folder, baseline, metrics)));
}

std::string bound(const std::string& text, const std::string& called) {
  const nb::gil_scoped_release others;
  const Node root = parse_yaml(text, called);
  const TaskSet set = read_task_set(Field(root, ""));
  return text_of(to_json(set, bound_with_costs(set, root)));
}

std::string recording_summary(const std::string& file) {
  const nb::gil_scoped_release others;
  return text_of(summary_json(recording::read_recording(file)));
}

}  // namespace

void add_reports(nb::module_& core) {
  core.def("compare", &compare);
  core.def("compare_policies", &compare_policies);
  core.def("bound", &bound);
  core.def("recording_summary", &recording_summary);
  core.def("listed", [](const std::string& what) { return text_of(listed(what)); });
  core.def("trace", [](const Experiment& experiment, const std::string& world, std::uint32_t point,
                       std::uint32_t policy, std::uint32_t replication, std::uint32_t permutation,
                       const std::string& file, std::uint64_t most) {
    const auto check = [](const char* key, std::uint64_t value, std::uint64_t count) {
      if (value >= count)
        throw InputError({"timeline", 0}, key, std::to_string(value), "at most " + std::to_string(count - 1));
    };
    check("point", point, experiment.points.size());
    check("policy", policy, experiment.points.policies_at(point));
    check("replication", replication, experiment.replications);
    check("permutation", permutation, permutation_count(experiment, experiment.points[point]));
    const WorldEntry& entry = Worlds::named(world, "trace", "world");
    Interruption interruption;
    std::packaged_task<TraceEnd()> play([&] {
      return write_chrome_trace(experiment, entry, {point, policy, replication}, permutation, file, most,
                                interruption.stop());
    });
    auto end = play.get_future();
    {
      const nb::gil_scoped_release others;
      const Running running;
      const std::jthread player(std::move(play));  // while this thread handles signals
      while (end.wait_for(kBetweenLooks) != std::future_status::ready) {
        const InterpreterLock held;
        interruption.look();
      }
    }
    interruption.raise();
    const TraceEnd told = end.get();
    return std::pair(told.written, told.full_at ? std::optional(told.full_at->ns) : std::nullopt);
  });
}

}  // namespace gangway::python
