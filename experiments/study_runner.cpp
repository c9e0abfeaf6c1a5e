#include "experiments/study_runner.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "experiments/build.hpp"
#include "experiments/files.hpp"
#include "experiments/manifest.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/study_rows.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::vector<std::string> file_names() {
  std::vector<std::string> names{"manifest.json"};
  for (const StudyFile& file : kStudyFiles) names.emplace_back(file.name);
  return names;
}

// One point in one order while its sets come in, in any order.
struct Group {
  std::size_t index = 0, point = 0, order = 0;
  std::vector<std::optional<JudgedSet>> sets;
  std::size_t left = 0;
};

class Runner {
 public:
  Runner(const Study& study, const StudyOptions& options, const ResultParts& parts,
         const std::atomic<bool>& stop)
      : study_(study), options_(options), parts_(parts), stop_(stop) {
    for (std::size_t p = 0; p < study.points.size(); ++p)
      for (std::size_t o = 0; o < study.points[p].order_count(); ++o) {
        const std::size_t index = rows_.size();
        rows_.push_back(kept(index));
        if (rows_.back()) continue;
        groups_.push_back({index, p, o, {}, 0});
        groups_.back().left = study.points[p].sets;
        first_unit_.push_back(units_);
        units_ += study.points[p].sets;
      }
  }

  StudyReport run() {
    const auto began = Clock::now();
    account_.command = options_.command;
    account_.world = "sim";
    account_.threads = threads();
    account_.start = utc_now();
    account_.resumed = groups_.size() < rows_.size();
    work();
    if (error_) std::rethrow_exception(error_);
    account_.end = utc_now();
    account_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    account_.events = events_;
    account_.jobs = static_cast<std::int64_t>(jobs_);
    StudyReport report;
    report.groups = rows_.size();
    report.groups_done = static_cast<std::size_t>(
        std::count_if(rows_.begin(), rows_.end(), [](const auto& rows) { return rows.has_value(); }));
    report.interrupted = report.groups_done < report.groups;
    report.sets = done_units_;
    report.jobs = jobs_;
    report.seconds = account_.seconds;
    report.threads = threads();
    if (!report.interrupted) report.summary = finish();
    return report;
  }

 private:
  unsigned threads() const {
    return options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  }
  bool stopping() const { return stop_ || failed_; }
  std::filesystem::path part(std::size_t index) const {
    return parts_.part(fmt::format("group-{}.json", index));
  }

  std::optional<StudyRows> kept(std::size_t index) const {
    if (!std::filesystem::exists(part(index))) return std::nullopt;
    const Json json = Json::parse(read_file(part(index)), nullptr, false);
    if (!json.is_array() || json.size() != kStudyFiles.size()) return std::nullopt;  // damaged: done again
    StudyRows rows;
    for (std::size_t f = 0; f < rows.size(); ++f) rows[f] = json[f].get<std::string>();
    return rows;
  }

  void work() {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads(); ++i)
      workers.emplace_back([this] {
        for (std::size_t unit = next_unit_++; unit < units_ && !stopping(); unit = next_unit_++)
          guarded(unit);
      });
    if (options_.progress) show_progress();
    for (std::thread& worker : workers) worker.join();
    if (options_.progress) fmt::print(stderr, "\r\033[K");
  }

  void guarded(std::size_t unit) {
    const auto after = std::upper_bound(first_unit_.begin(), first_unit_.end(), unit);
    const auto g = static_cast<std::size_t>(after - first_unit_.begin()) - 1;
    Group& group = groups_[g];
    const std::size_t number = unit - first_unit_[g];
    try {
      auto judged = judge(study_, study_.points[group.point], number, group.order, stop_);
      if (judged) take(group, number, std::move(*judged));
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      const std::string order = study_.points[group.point].order_of(group.order);
      const std::string text = fmt::format("point {}{}{}, set {}: {}", group.point, order.empty() ? "" : ", ",
                                           order, number, error.what());
      const bool input = dynamic_cast<const InputError*>(&error) != nullptr;
      if (!error_)
        error_ = input ? std::make_exception_ptr(InputError(text)) : std::make_exception_ptr(RunError(text));
      failed_ = true;
    }
  }

  void take(Group& group, std::size_t number, JudgedSet judged) {
    events_ += judged.events;
    jobs_ += judged.jobs;
    ++done_units_;
    const std::lock_guard lock(mutex_);
    group.sets.resize(study_.points[group.point].sets);
    group.sets[number] = std::move(judged);
    if (--group.left > 0) return;
    std::vector<JudgedSet> sets;
    for (auto& set : group.sets) sets.push_back(std::move(*set));
    group.sets.clear();
    group.sets.shrink_to_fit();
    StudyRows rows = rows_of(study_, group.point, group.order, sets);
    Json json = Json::array();
    for (const std::string& text : rows) json.push_back(text);
    write_file(part(group.index), json.dump());
    rows_[group.index] = std::move(rows);
  }

  // The final files; returns summary.csv.
  std::string finish() const {
    std::string summary;
    for (std::size_t f = 0; f < kStudyFiles.size(); ++f) {
      std::string text = header_of(kStudyFiles[f], study_);
      for (const auto& rows : rows_) text += (*rows)[f];
      if (f == 0) summary = text;
      const bool wanted = std::string_view(kStudyFiles[f].name) != "tasks.csv" || study_.write_tasks;
      if (wanted) write_file(parts_.path() / kStudyFiles[f].name, text);
    }
    const Json manifest = manifest_json(study_.name, study_.identity, parts_.key(), study_.seed,
                                        study_.configuration, account_);
    write_file(parts_.path() / "manifest.json",
               manifest.dump(1) + "\n");  // last: its presence says that the rest is there
    return summary;
  }

  void show_progress() const {
    const auto began = Clock::now();
    while (done_units_ < units_ && !stopping()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
      const auto done = static_cast<double>(done_units_.load());
      const double left = done > 0 ? seconds * (static_cast<double>(units_) - done) / done : 0;
      fmt::print(stderr, "\r\033[K{}/{} task sets, {:.0f}/s, {:.0f} s left", done_units_.load(), units_,
                 done / seconds, left);
    }
  }

  const Study& study_;
  const StudyOptions& options_;
  const ResultParts& parts_;
  const std::atomic<bool>& stop_;
  std::vector<std::optional<StudyRows>> rows_;  // by group: point by point, orders as given
  std::vector<Group> groups_;                   // those to be done
  std::vector<std::size_t> first_unit_;         // of each
  std::size_t units_ = 0;
  std::atomic<std::size_t> next_unit_ = 0, done_units_ = 0;
  std::atomic<std::uint64_t> events_ = 0, jobs_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
  RunAccount account_;
};

}  // namespace

StudyReport run_study(const Study& study, const StudyOptions& options, const std::atomic<bool>& stop) {
  ResultParts parts(options.out, study.identity, study.identity + " sim " + build_identity(), file_names(),
                    options.force);
  if (parts.complete()) {
    StudyReport report;
    report.was_complete = true;
    return report;
  }
  StudyReport report = Runner(study, options, parts, stop).run();
  if (!report.interrupted) parts.set_complete();
  return report;
}

}  // namespace gangway
