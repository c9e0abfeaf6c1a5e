// Parts of sweeps, as bytes that travel, and what joins them.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>

#include "analysis/core/interpreter_lock.hpp"
#include "analysis/core/interruption.hpp"
#include "analysis/core/parts.hpp"
#include "analysis/core/running.hpp"
#include "experiments/results/files.hpp"
#include "experiments/results/merge.hpp"
#include "experiments/running/runner.hpp"

namespace gangway::python {
namespace {

namespace fs = std::filesystem;

const std::atomic<bool>& go_on() {
  static const std::atomic<bool> never = false;
  return never;
}

// Plays these points on one thread, in a folder that is not there yet; (the part's file, seconds). Groups
// that fail are results of the part.
std::pair<nb::bytes, double> play_part(const Experiment& experiment, const std::string& points,
                                       const std::string& folder) {
  std::string bytes;
  double seconds = 0;
  Interruption interruption;
  {
    const nb::gil_scoped_release others;
    const Running running;
    RunOptions options;
    options.out = folder;
    options.world = &Worlds::named("sim", "sweep", "world");
    options.threads = 1;
    options.command = "gangway.sweep";
    options.points = PointSet::parse(points, experiment.points.size());
    options.progress = [&](const RunProgress&) {
      const InterpreterLock held;
      interruption.look();
    };
    const RunReport report = run_experiment(experiment, options, interruption.stop());
    seconds = report.account.seconds;
    if (!report.interrupted) bytes = read_file(fs::path(folder) / "parts" / "results.sqlite");
  }
  interruption.raise();
  return {nb::bytes(bytes.data(), bytes.size()), seconds};
}

// One destination of parts.
class Joined {
 public:
  Joined(const nb::bytes& first, const std::string& out, bool force)
      : like_(text_of(first), "the first part") {
    const nb::gil_scoped_release others;
    merge_ = std::make_unique<Merge>(like_, out, force);
  }

  bool complete() const { return merge_->complete(); }
  void add(const nb::bytes& part, const std::string& name) {
    PartFile file(text_of(part), name);
    const nb::gil_scoped_release others;
    merge_->add(file, go_on());
  }
  // (first, last) of the points that no part had so far, both included.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> missing() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    for (const PointSet::Range& range : merge_->missing().ranges()) out.emplace_back(range.first, range.last);
    return out;
  }
  // How many results failed.
  std::uint64_t finish(const std::string& command) {
    const nb::gil_scoped_release others;
    return std::get<RunReport>(merge_->finish(command)).failed;
  }

 private:
  static std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

  PartFile like_;
  std::unique_ptr<Merge> merge_;
};

}  // namespace

void add_sweeps(nb::module_& core) {
  core.def("play_part", &play_part);
  nb::class_<Joined>(core, "Joined")
      .def(nb::init<const nb::bytes&, const std::string&, bool>())
      .def_prop_ro("complete", &Joined::complete)
      .def("add", &Joined::add)
      .def("missing", &Joined::missing)
      .def("finish", &Joined::finish);
}

}  // namespace gangway::python
