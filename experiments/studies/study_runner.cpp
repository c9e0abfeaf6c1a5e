#include "experiments/studies/study_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/library/build.hpp"
#include "experiments/results/result_parts.hpp"
#include "experiments/running/group_work.hpp"
#include "experiments/studies/study_folder.hpp"
#include "experiments/studies/study_rows.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

PointSet points_of(const Study& study, const StudyOptions& options) {
  return options.points.value_or(PointSet::all(study.sweep.points()));
}

// One point in one order while its sets come in, in any order.
struct OrderedPoint {
  std::uint64_t number = 0;
  std::uint32_t point = 0;
  std::size_t order = 0;
  std::shared_ptr<const StudyPoint> read;
  std::mutex mutex;
  std::vector<std::optional<JudgedSet>> sets;
  std::size_t left = 0;
};

using SetTask = GroupWork<OrderedPoint>::Task;

class StudyRunner {
 public:
  StudyRunner(const Study& study, const StudyOptions& options, ResultParts& parts,
              const std::atomic<bool>& stop)
      : study_(study),
        options_(options),
        parts_(parts),
        stop_(stop),
        work_(
            {points_of(study, options), study.groups, [this](const GroupPlace& place) { return kept(place); },
             [this](const GroupPlace& place) { return open(place); }},
            study.groups.of(points_of(study, options)), {study.sets, options.threads, options.progress},
            parts.store(), stop) {}

  StudyReport run() {
    RunAccount account;
    account.command = options_.command;
    account.world = "sim";
    work_.begin(account, parts_.resumed());
    const Crew crew = work_.run([this](const SetTask& task) { play_task(task); });
    StudyReport report;
    if (!crew.note.empty()) report.notes.push_back(crew.note);
    account.threads = report.threads = crew.threads;
    work_.end(account);
    report.seconds = account.seconds;
    report.part = options_.points.has_value();
    report.groups = work_.groups();
    report.groups_done = work_.done();
    report.interrupted = report.groups_done < report.groups;
    report.sets = work_.runs_done();
    report.jobs = work_.jobs();
    if (!report.interrupted) report.summary = finish_study(study_, parts_, account);
    return report;
  }

 private:
  bool kept(const GroupPlace& place) { return parts_.resumed() && parts_.store().has(place.number); }

  std::shared_ptr<OrderedPoint> open(const GroupPlace& place) {
    if (!read_ || read_point_ != place.point)
      read_ = std::make_shared<const StudyPoint>(study_.point(place.point));
    read_point_ = place.point;
    auto group = std::make_shared<OrderedPoint>();
    group->number = place.number;
    group->point = place.point;
    group->order = place.index;
    group->read = read_;
    group->sets.resize(study_.sets);
    group->left = study_.sets;
    return group;
  }

  void play_task(const SetTask& task) {
    std::optional<JudgedSet> judged = judge_set(task);
    try {
      if (judged) take(task, std::move(*judged));
    } catch (const std::bad_alloc&) {  // half of it may be taken
      throw out_of_memory();
    }
  }

  std::optional<JudgedSet> judge_set(const SetTask& task) {
    const OrderedPoint& group = *task.group;
    try {
      return judge(study_, *group.read, task.number, group.order, stop_);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::string order = group.read->order_of(group.order);
      const std::string text = fmt::format("point {}{}{}, set {}: {}", group.point, order.empty() ? "" : ", ",
                                           order, task.number, error.what());
      if (dynamic_cast<const InputError*>(&error) != nullptr) throw InputError(text);
      throw RunError(text);
    }
  }

  void take(const SetTask& task, JudgedSet judged) {
    OrderedPoint& group = *task.group;
    work_.count(judged.events, judged.jobs);
    work_.count_run();
    const std::lock_guard lock(group.mutex);
    group.sets[task.number] = std::move(judged);
    if (--group.left > 0) return;
    std::vector<JudgedSet> sets;
    sets.reserve(group.sets.size());
    std::uint64_t events = 0, jobs = 0;
    for (auto& set : group.sets) {
      events += set->events;
      jobs += set->jobs;
      sets.push_back(std::move(*set));
    }
    group.sets.clear();
    group.sets.shrink_to_fit();
    const std::string order = group.read->order_of(group.order);
    StudyRows rows = rows_of(study_, group.point, order, sets);
    // Those of tasks may be many.
    parts_.store().keep_text(group.number, 0, rows.back());
    rows.back().clear();
    parts_.store().keep(group.number, {group.point, order, Json(rows).dump(), "", events, jobs});
    work_.count_group();
  }

  const Study& study_;
  const StudyOptions& options_;
  ResultParts& parts_;
  const std::atomic<bool>& stop_;
  std::shared_ptr<const StudyPoint> read_;  // of the group opened last
  std::uint32_t read_point_ = 0;
  GroupWork<OrderedPoint> work_;
};

}  // namespace

StudyReport run_study(const Study& study, const StudyOptions& options, const std::atomic<bool>& stop) {
  const ResultKey key{study.identity, "sim", program_hash(), "",
                      options.points ? options.points->text() : std::string()};
  ResultParts parts(options.out, key, key.points.empty() ? study_files(study) : std::vector<std::string>{},
                    options.force);
  StudyReport report;
  if (parts.complete())
    report.was_complete = true;
  else
    report = StudyRunner(study, options, parts, stop).run();
  if (!parts.note().empty()) report.notes.push_back(parts.note());
  return report;
}

}  // namespace gangway
