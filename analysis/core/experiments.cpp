#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "analysis/core/collected_tables.hpp"
#include "analysis/core/interpreter_lock.hpp"
#include "analysis/core/interruption.hpp"
#include "analysis/core/parts.hpp"
#include "analysis/core/running.hpp"
#include "experiments/library/build.hpp"
#include "experiments/running/runner.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/nearest.hpp"

namespace gangway::python {
namespace {

std::vector<Override> overrides_of(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<Override> all;
  for (const auto& [path, value] : changes) all.push_back({path, value, "--set"});
  return all;
}

Experiment read_file(const std::string& given,
                     const std::vector<std::pair<std::string, std::string>>& changes) {
  const nb::gil_scoped_release others;
  return read_experiment(given, overrides_of(changes));
}

Experiment read_text(const std::string& text, const std::string& called, const std::string& folder,
                     const std::vector<std::pair<std::string, std::string>>& changes) {
  const nb::gil_scoped_release others;
  Configuration configuration{parse_yaml(text, called), folder, "experiment"};
  Field(configuration.root, "").mapping();
  return read_experiment(std::move(configuration), overrides_of(changes));
}

struct RunArguments {
  std::string out, world;
  unsigned threads = 0;
  bool force = false, trace = false, keep_jobs = false;
  std::string command;
  nb::object progress, say;
};

// Of RunReport, what a caller in Python wants to know beside the tables.
nb::dict dict_of(const RunReport& report) {
  nb::dict out;
  out["interrupted"] = report.interrupted;
  out["was_complete"] = report.was_complete;
  out["groups"] = report.groups;
  out["groups_done"] = report.groups_done;
  out["failed"] = report.failed;
  nb::list failures;
  for (const FailedGroup& failure : report.failures)
    failures.append(nb::make_tuple(failure.point, failure.policy, failure.text()));
  out["failures"] = failures;
  out["notes"] = nb::cast(report.notes);
  out["warnings"] = report.findings.warnings;
  out["seconds"] = report.account.seconds;
  out["events"] = report.account.events;
  out["jobs"] = report.account.jobs;
  out["threads"] = report.account.threads;
  return out;
}

nb::dict progress_of(const RunProgress& progress) {
  nb::dict out;
  out["groups_done"] = progress.groups_done;
  out["groups"] = progress.groups;
  out["runs_done"] = progress.runs_done;
  out["runs"] = progress.runs;
  out["jobs_per_second"] = progress.jobs_per_second;
  out["seconds_left"] = progress.seconds_left;
  return out;
}

nb::tuple run(const Experiment& experiment, const RunArguments& arguments) {
  RunOptions options;
  options.out = arguments.out;
  options.world = &Worlds::named(arguments.world, "run", "world");
  options.threads = arguments.threads;
  options.force = arguments.force;
  options.trace = arguments.trace;
  options.command = arguments.command;
  Interruption interruption;
  options.say = [&](const std::string& line) {
    const InterpreterLock held;
    interruption.guard([&] { arguments.say(line); });
  };
  options.progress = [&](const RunProgress& progress) {
    const InterpreterLock held;
    interruption.look();
    interruption.guard([&] { arguments.progress(progress_of(progress)); });
  };
  CollectedTables tables(experiment, arguments.keep_jobs);
  options.tables = &tables;
  RunReport report;
  {
    const nb::gil_scoped_release others;
    const Running running;
    report = run_experiment(experiment, options, interruption.stop());
  }
  interruption.raise();
  return nb::make_tuple(dict_of(report), tables.take());
}

}  // namespace

void add_experiments(nb::module_& core) {
  nb::class_<Experiment>(core, "Experiment")
      .def_ro("name", &Experiment::name)
      .def_ro("title", &Experiment::title)
      .def_ro("configuration", &Experiment::configuration)
      .def_ro("identity", &Experiment::identity)
      .def_ro("replications", &Experiment::replications)
      .def_ro("seed", &Experiment::seed)
      .def_prop_ro("points", [](const Experiment& e) { return e.points.size(); })
      .def_prop_ro("groups", [](const Experiment& e) { return e.points.groups().all(); })
      .def_prop_ro("swept_columns", [](const Experiment& e) { return e.points.sweep().columns(); })
      .def("swept_cells",
           [](const Experiment& e, std::uint32_t point) { return e.points.sweep().cells(point); })
      .def("policies", [](const Experiment& e, std::uint32_t point) { return e.points.labels_at(point); })
      .def("clients", [](const Experiment& e, std::uint32_t point) {
        std::vector<std::string> names;
        for (const Client& client : e.points[point].workload->sample().clients) names.push_back(client.name);
        return names;
      });
  core.def("read_file", &read_file);
  core.def("read_text", &read_text);
  core.def("run", [](const Experiment& experiment, const std::string& out, const std::string& world,
                     unsigned threads, bool force, bool trace, bool keep_jobs, const std::string& command,
                     nb::object progress, nb::object say) {
    return run(experiment,
               {out, world, threads, force, trace, keep_jobs, command, std::move(progress), std::move(say)});
  });
  core.def("check", [](const std::string& file) {
    const nb::gil_scoped_release others;
    return check_file(file);
  });
  core.attr("version") = build_version();
  core.attr("commit") = build_commit();
}

}  // namespace gangway::python
