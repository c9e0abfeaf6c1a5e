#include "experiments/running/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "experiments/results/experiment_notes.hpp"
#include "experiments/running/client_programs.hpp"
#include "experiments/running/group_work.hpp"
#include "experiments/running/open_group.hpp"
#include "experiments/running/playable.hpp"
#include "experiments/running/slice_bound.hpp"
#include "experiments/timelines/trace_files.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostFailures = 20;  // that are reported

// Whether the world can play the point. Reading it has asked the simulation.
void check_world(const Point& point, const WorldEntry& world) {
  const bool moves = moves_memory(point.policies);
  for (const Contender& policy : point.policies)
    if (&world != &simulation() || only_elsewhere(policy, point)) check_playable(world, policy, point, moves);
}

PointSet points_of(const Experiment& experiment, const RunOptions& options) {
  return options.points.value_or(PointSet::all(experiment.points.size()));
}

using Task = GroupWork<OpenGroup>::Task;  // a replication

class Runner {
 public:
  Runner(const Experiment& experiment, const RunOptions& options, Machine machine,
         RecordedMachines recordings, std::vector<std::string> notes, ResultFolder& folder,
         const std::atomic<bool>& stop)
      : experiment_(experiment),
        options_(options),
        points_(points_of(experiment, options)),
        machine_(std::move(machine)),
        recordings_(std::move(recordings)),
        notes_(std::move(notes)),
        folder_(folder),
        stop_(stop),
        traces_(experiment, points_, folder.parts(), options.trace_limit, options.say),
        work_({points_, experiment.points.groups(), [this](const GroupPlace& place) { return kept(place); },
               [this](const GroupPlace& place) { return open(place); }},
              experiment.points.groups().of(points_),
              {experiment.replications, options.world->real_time ? 1 : options.threads, options.progress},
              folder.parts().store(), stop) {}

  RunReport run() {
    RunReport report;
    report.account = begin();
    const Crew crew = work_.run([this](const Task& task) { play_task(task); });
    if (!crew.note.empty()) report.notes.push_back(crew.note);
    report.account.threads = crew.threads;
    report.part = options_.points.has_value();
    report.groups = work_.groups();
    report.groups_done = work_.done();
    report.failed = failed_;
    for (auto& [number, failure] : failures_) report.failures.push_back(std::move(failure));
    report.interrupted = report.groups_done + report.failed < report.groups;
    if (report.interrupted) return report;
    if (report.failed == report.groups && !report.part) fail(report);
    report.interrupted = !make_traces();
    if (!report.interrupted) end(report);
    return report;
  }

 private:
  // Of simulations, which can be played again. Returns false when it was stopped.
  bool make_traces() {
    if (options_.world->real_time || (!options_.trace && !folder_.parts().lacks_traces())) return true;
    const auto played = static_cast<double>(std::max<std::uint64_t>(work_.played(), 1));
    if (options_.trace)
      traces_.announce(static_cast<double>(work_.events()) * static_cast<double>(work_.groups()) / played);
    return traces_.make_missing(*options_.world, stop_, !options_.trace);
  }

  RunAccount begin() {
    RunAccount account;
    account.command = options_.command;
    account.world = options_.world->name;
    account.machine = machine_;
    account.recordings = recordings_.all();
    account.best_cases = recordings_.best_cases();
    account.notes = notes_;
    work_.begin(account, folder_.parts().resumed());
    return account;
  }

  void end(RunReport& report) {
    work_.end(report.account);
    report.account.failed = report.failed;
    if (report.part)
      folder_.finish_part(report.account);
    else
      report.findings = folder_.finish(report.account, options_.tables);
  }

  // Nothing could be played.
  [[noreturn]] void fail(const RunReport& report) const {
    const FailedGroup& first = report.failures.front();
    const std::string text = report.groups > 1 ? first.text() : first.message;
    if (first.input) throw InputError(text);
    throw RunError(text);
  }

  // Whether an earlier call left the group. A real run cannot be played again for its timeline.
  bool kept(const GroupPlace& place) {
    if (!folder_.parts().resumed() || !folder_.parts().store().has(place.number)) return false;
    return !options_.trace || !options_.world->real_time || traces_.has({place.point, place.index, 0});
  }
  std::shared_ptr<OpenGroup> open(const GroupPlace& place) {
    if (!point_ || point_->index() != place.point) point_ = std::make_shared<OpenPoint>(place.point);
    return std::make_shared<OpenGroup>(place.number, point_, place.index);
  }

  void play_task(const Task& task) {
    OpenGroup& group = *task.group;
    const auto replication = static_cast<std::uint32_t>(task.number);
    const Unit unit{group.point().index(), group.policy(), replication};
    work_.count_run();
    if (!group.needs(replication)) return;
    std::unique_ptr<ChromeTrace> trace;
    if (options_.trace && options_.world->real_time && unit.replication == 0) trace = traces_.record(unit);
    std::optional<Played> played = play_unit(group, unit, trace.get());
    if (!played) return;
    if (trace && played->result) traces_.finish(*trace, unit);
    if (played->result)
      for (const std::string& note : played->result->notes) options_.say("note: " + note);
    if (played->result)
      work_.count(played->result->events, static_cast<std::uint64_t>(played->result->metrics.jobs));
    if (!take(group, replication, std::move(*played))) return;
    if (group.error().empty())
      work_.count_group();
    else
      note_failure(group);
  }

  bool take(OpenGroup& group, std::uint32_t replication, Played played) {
    try {
      return group.take(replication, std::move(played), experiment_, folder_);
    } catch (const std::bad_alloc&) {  // half of it may be taken
      throw out_of_memory();
    }
  }

  // What the unit came to; nothing when it was stopped. `trace` is given the timeline of a real run.
  std::optional<Played> play_unit(const OpenGroup& group, const Unit& unit, TraceSink* trace) {
    try {
      const Point& point =
          group.point().get(experiment_, [this](const Point& read) { check_world(read, *options_.world); });
      auto result = play(experiment_, point, *options_.world, unit, stop_, trace);
      if (!result) return std::nullopt;
      return Played{std::move(result), "", false};
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (stop_) return std::nullopt;  // a call of the policy may have been ended
      return Played{std::nullopt, error.what(), dynamic_cast<const InputError*>(&error) != nullptr};
    }
  }

  void note_failure(const OpenGroup& group) {
    const std::lock_guard lock(failures_mutex_);
    ++failed_;
    failures_[group.number()] = {group.point().index(), group.label(), group.error(), group.wrong_input()};
    if (failures_.size() > kMostFailures) failures_.erase(std::prev(failures_.end()));
  }

  const Experiment& experiment_;
  const RunOptions& options_;
  const PointSet points_;  // that are played
  const Machine machine_;
  const RecordedMachines recordings_;
  const std::vector<std::string> notes_;
  ResultFolder& folder_;
  const std::atomic<bool>& stop_;
  TraceFiles traces_;
  std::shared_ptr<OpenPoint> point_;  // of the group opened last
  GroupWork<OpenGroup> work_;
  std::atomic<std::uint64_t> failed_ = 0;
  std::mutex failures_mutex_;
  std::map<std::uint64_t, FailedGroup> failures_;  // by group
};

// To results that are there already. Returns false when `stop` got set before the end.
bool add_traces(const Experiment& experiment, const RunOptions& options, ResultParts& parts,
                const std::atomic<bool>& stop) {
  const PointSet points = points_of(experiment, options);
  TraceFiles traces(experiment, points, parts, options.trace_limit, options.say);
  bool whole = true;
  if (!options.world->real_time) {
    if (options.trace) traces.announce(read_manifest_of_any(options.out).events);
    whole = traces.make_missing(*options.world, stop, !options.trace);
  } else {
    if (!traces.complete())
      throw InputError({"--trace", 0}, "trace", "results of runs in real time that kept no timeline",
                       "--force as well, which runs them again");
  }
  parts.list_again();
  return whole;
}

}  // namespace

std::string FailedGroup::text() const {
  return message.starts_with("point ") ? message
                                       : fmt::format("point {} under {}: {}", point, policy, message);
}

RunReport run_experiment(const Experiment& experiment, const RunOptions& options,
                         const std::atomic<bool>& stop) {
  RecordedMachines recordings;
  experiment.points.each_checked([&](const Point& point) {
    check_world(point, *options.world);
    if (options.world->recordings) recordings.see(point);
  });
  Machine machine;
  if (options.world->machine != nullptr) machine = options.world->machine();  // before anything is written
  ResultKey key = key_of(experiment.identity, *options.world, machine);
  if (options.world->programs) key.client_programs = hash_of_programs(experiment.points);
  if (options.points) key.points = options.points->text();
  ResultFolder folder(options.out, experiment, std::move(key), options.force);
  RunReport report;
  const std::vector<std::string> notes = notes_of(experiment, *options.world, recordings);
  const std::string note = folder.parts().note();
  const bool lacks_traces = folder.parts().lacks_traces() && !options.world->real_time;
  std::string said;  // before what may take long
  if (folder.complete()) {
    report.was_complete = true;
    if (options.trace || lacks_traces)
      report.interrupted = !add_traces(experiment, options, folder.parts(), stop);
  } else {
    said = slice_bound_note(experiment);
    if (!said.empty()) options.say("note: " + said);
    report = Runner(experiment, options, std::move(machine), recordings, notes, folder, stop).run();
  }
  std::copy_if(notes.begin(), notes.end(), std::back_inserter(report.notes),
               [&](const std::string& one) { return one != said; });
  if (!note.empty()) report.notes.push_back(note);
  if (note.empty() && lacks_traces)
    report.notes.push_back(
        fmt::format("{}: traces are missing or have changed, so they are made again", options.out.string()));
  return report;
}

}  // namespace gangway
