#include "experiments/study_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "experiments/build.hpp"
#include "experiments/group_tasks.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/study_folder.hpp"
#include "experiments/study_rows.hpp"
#include "experiments/workers.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

using Clock = std::chrono::steady_clock;
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

using SetTask = GroupTask<OrderedPoint>;

class StudyRunner {
 public:
  StudyRunner(const Study& study, const StudyOptions& options, ResultParts& parts,
              const std::atomic<bool>& stop)
      : study_(study),
        options_(options),
        parts_(parts),
        stop_(stop),
        groups_(study.groups.of(points_of(study, options))),
        tasks_(
            {points_of(study, options), study.groups, [this](const GroupPlace& place) { return kept(place); },
             [this](const GroupPlace& place) { return open(place); }},
            study.sets) {}

  StudyReport run() {
    began_ = Clock::now();
    RunAccount account;
    account.command = options_.command;
    account.world = "sim";
    account.start = utc_now();
    account.resumed = parts_.resumed();
    const std::uint64_t units = groups_ * study_.sets;
    const Crew crew = work(
        static_cast<unsigned>(std::min<std::uint64_t>(threads(), units)), [this] { return step(); },
        [this] { tick(); });
    parts_.store().commit();
    if (options_.progress) fmt::print(stderr, "\r\033[K");
    StudyReport report;
    if (!crew.note.empty()) report.notes.push_back(crew.note);
    account.threads = report.threads = crew.threads;
    account.end = utc_now();
    account.seconds = report.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    account.events = events_;
    account.jobs = static_cast<std::int64_t>(jobs_);
    report.part = options_.points.has_value();
    report.groups = groups_;
    report.groups_done = done_groups_;
    report.interrupted = report.groups_done < report.groups;
    report.sets = done_units_;
    report.jobs = jobs_;
    if (!report.interrupted) report.summary = finish_study(study_, parts_, account);
    return report;
  }

 private:
  unsigned threads() const {
    return options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  }

  bool kept(const GroupPlace& place) {
    const bool kept = parts_.resumed() && parts_.store().has(place.number);
    done_groups_ += kept ? 1 : 0;
    return kept;
  }

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

  bool step() {
    if (stop_) return false;
    std::optional<SetTask> task = tasks_.next();
    if (!task) return false;
    std::optional<JudgedSet> judged;
    try {
      judged = judge_set(*task);
    } catch (const std::bad_alloc&) {
      tasks_.give_back(std::move(*task));
      throw;
    }
    try {
      if (judged) take(*task, std::move(*judged));
    } catch (const std::bad_alloc&) {  // half of it may be taken
      throw out_of_memory();
    }
    return true;
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
    events_ += judged.events;
    jobs_ += judged.jobs;
    ++done_units_;
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
    ++done_groups_;
  }

  void tick() {
    parts_.store().commit();
    if (!options_.progress) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    const auto done = static_cast<double>(done_units_.load());
    const auto all = static_cast<double>((groups_ - tasks_.kept()) * study_.sets);
    fmt::print(stderr, "\r\033[K{}/{} task sets, {:.0f}/s, {:.0f} s left", done, all, done / seconds,
               done > 0 ? seconds * (all - done) / done : 0);
  }

  const Study& study_;
  const StudyOptions& options_;
  ResultParts& parts_;
  const std::atomic<bool>& stop_;
  const std::uint64_t groups_;  // that are computed or kept
  Clock::time_point began_;
  std::shared_ptr<const StudyPoint> read_;  // of the group opened last
  std::uint32_t read_point_ = 0;
  GroupTasks<OrderedPoint> tasks_;
  std::atomic<std::uint64_t> done_units_ = 0, done_groups_ = 0, events_ = 0, jobs_ = 0;
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
