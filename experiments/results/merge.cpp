#include "experiments/results/merge.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/results/experiment_notes.hpp"
#include "experiments/results/merged_account.hpp"
#include "experiments/studies/study_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAccount = "account";  // what the store says of the parts that were added
constexpr std::size_t kMostRangesNamed = 10;
constexpr std::size_t kMostFailuresNamed = 20;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

ResultKey without_points(ResultKey key) {
  key.points.clear();
  return key;
}

Configuration configuration_of(PartFile& part) {
  return {parse_yaml(part.configuration(), part.name()), fs::path(), part.name()};
}

bool is_study(const Configuration& configuration) {
  const Node* kind = configuration.root.find("kind");
  return kind != nullptr && kind->scalar == "study";
}

[[noreturn]] void refuse_missing(const PointSet& missing, std::uint32_t points) {
  throw InputError({"gangway merge", 0}, "points",
                   fmt::format("no results of {}", missing.text_of_first(kMostRangesNamed)),
                   fmt::format("parts with all points from 0 to {}", points - 1));
}

struct Interrupted {};

}  // namespace

class Merge::Destination {
 public:
  Destination(PartFile& like, const fs::path& out, bool force)
      : out_(out), machine_(machine_of(like.manifest())) {
    Configuration configuration = configuration_of(like);
    ResultKey key = without_points(like.key());
    if (key.program != program_hash())  // which would write other bytes
      like.refuse("results of another build of gangway", "those of this one");
    std::string identity;
    if (is_study(configuration)) {
      study_ = read_study(std::move(configuration), {});
      identity = study_->identity;
    } else {
      experiment_ = read_experiment(std::move(configuration), {});
      identity = experiment_->identity;
    }
    if (key.identity != identity)
      like.refuse("results of files that have changed since", "the files that its configuration names");
    if (experiment_)
      folder_ = std::make_unique<ResultFolder>(out, *experiment_, std::move(key), force);
    else
      study_parts_ = std::make_unique<ResultParts>(out, std::move(key), study_files(*study_), force);
    if (!parts().complete()) take_up();
  }

  ResultParts& parts() { return folder_ ? folder_->parts() : *study_parts_; }
  const ResultParts& parts() const { return folder_ ? folder_->parts() : *study_parts_; }
  const Experiment* experiment() const { return experiment_ ? &*experiment_ : nullptr; }
  std::uint32_t points() const { return experiment_ ? experiment_->points.size() : study_->sweep.points(); }
  PointSet missing() const { return PointSet::all(points()).without(there_); }

  bool add(PartFile& part, const std::atomic<bool>& stop) {
    check(part);
    const PointSet points = part.points(this->points());
    try {
      parts().store().all_or_none([&] {
        add_results(part, points, stop);
        for (const auto& [first, last] : points.ranges())
          parts().store().keep_origin(first, last, part.name());
        MergedAccount account(parts().store().said(kAccount));
        account.add(part.manifest());
        parts().store().say(kAccount, account.text());
      });
    } catch (const Interrupted&) {
      return false;
    }
    if (!part.folder().empty()) add_timelines(part);
    there_.add(points);
    return true;
  }

  std::variant<RunReport, StudyReport> finish(const std::string& command) {
    if (!missing().empty()) refuse_missing(missing(), points());
    const PartStore::Totals totals = parts().store().totals();
    RunAccount account = MergedAccount(parts().store().said(kAccount)).run();
    account.command = command;
    account.machine = machine_;
    account.events = totals.events;
    account.jobs = static_cast<std::int64_t>(totals.jobs);
    account.failed = totals.failed;
    if (study_) return finish_study_report(account);
    return finish_run_report(std::move(account));
  }

 private:
  // What an earlier merge left here, or a run.
  void take_up() {
    PartStore& store = parts().store();
    store.each_origin([&](std::uint32_t first, std::uint32_t last) { there_.add({first, last}); });
    if (!there_.empty() || store.count() == 0) return;
    std::uint64_t groups = 0;
    std::uint32_t point = 0;
    store.each([&](std::uint64_t, const Part& part) {
      groups = part.point == point ? groups + 1 : 1;
      point = part.point;
      if (groups == counts().at(point)) there_.add({point, point});
    });
    for (const auto& [first, last] : there_.ranges()) store.keep_origin(first, last, out_.string());
  }

  const GroupCounts& counts() const { return experiment_ ? experiment_->points.groups() : study_->groups; }

  void check(const PartFile& part) const {
    if (const auto other = without_points(part.key()).difference(parts().key()))
      part.refuse(*other, "a part of the results in " + out_.string());
  }

  void add_results(PartFile& part, const PointSet& points, const std::atomic<bool>& stop) {
    PartsHash hash;
    std::uint64_t groups = 0;
    part.each([&](std::uint64_t number, const Part& group) {
      if (stop) throw Interrupted{};
      ++groups;
      hash.add(number, group);
      add_group(part, number, group, hash);
    });
    if (groups != counts().of(points) || !part.content_is(hash.hex()))
      part.refuse("a damaged part (its content has changed)", "an unchanged part of `gangway run --points`");
  }

  void add_group(PartFile& part, std::uint64_t number, const Part& group, PartsHash& hash) {
    PartStore& store = parts().store();
    const auto there = store.find(number);
    const bool better = there && !there->error.empty() &&
                        (group.error.empty() || group.error < there->error);  // whatever comes first
    if (!there || better) {
      std::uint32_t piece = 0;
      part.each_text(number, [&](std::string_view text) {
        hash.add_text(text);
        store.keep_text(number, piece++, text);
      });
      store.keep(number, group);
      return;
    }
    Sha256 theirs, ours;
    part.each_text(number, [&](std::string_view text) {
      hash.add_text(text);
      theirs.add(text);
    });
    if (!there->error.empty() || !group.error.empty()) return;
    store.each_text(number, [&](std::string_view text) { ours.add(text); });
    if (*there == group && theirs.hex() == ours.hex()) return;
    const std::string name = group.name.empty() ? "" : " under " + group.name;
    part.refuse(fmt::format("other results of point {}{} than in {}", group.point, name,
                            store.origin_of(group.point)),
                "the same in both");
  }

  void add_timelines(PartFile& part) {
    const Manifest manifest = read_manifest_of_any(part.folder());
    for (const auto& [name, facts] : manifest.files.value_or(ResultFiles{})) {
      const auto there = parts().facts(name);
      if (there && *there == facts && parts().intact(name)) continue;
      if (there && !there->sha256.empty() && parts().intact(name))
        part.refuse(fmt::format("another {} than in {}", name, out_.string()), "the same in both");
      make_folder((out_ / name).parent_path());
      copy(part, name, facts);
    }
  }

  void copy(const PartFile& part, const std::string& name, const FileFacts& facts) {
    std::ifstream from(part.folder() / name, std::ios::binary);
    NewFile file(out_ / name);
    std::string bytes(kBytesAtOnce, '\0');
    FileFacts copied;
    Sha256 hash;
    while (from.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || from.gcount() > 0) {
      const std::string_view read(bytes.data(), static_cast<std::size_t>(from.gcount()));
      file.write(read);
      hash.add(read);
      copied.bytes += read.size();
    }
    copied.sha256 = hash.hex();
    if (copied != facts)
      part.refuse(name + ", which is missing or has changed", "an unchanged part of `gangway run --points`");
    parts().put(name, file);
  }

  StudyReport finish_study_report(const RunAccount& account) {
    StudyReport report;
    report.groups = report.groups_done = counts().all();
    report.sets = report.groups * study_->sets;
    report.jobs = static_cast<std::uint64_t>(account.jobs);
    report.seconds = account.seconds;
    report.threads = account.threads;
    report.summary = finish_study(*study_, parts(), account);
    return report;
  }

  RunReport finish_run_report(RunAccount account) {
    RecordedMachines recordings;
    const WorldEntry& world = Worlds::named(parts().key().world, out_.string(), "world");
    if (world.recordings)
      experiment_->points.each_checked([&](const Point& point) { recordings.see(point); });
    account.recordings = recordings.all();
    account.best_cases = recordings.best_cases();
    account.notes = notes_of(*experiment_, world, recordings);
    RunReport report;
    report.groups = counts().all();
    report.failed = account.failed;
    report.groups_done = report.groups - report.failed;
    if (report.failed > 0)
      parts().store().each([&](std::uint64_t, const Part& part) {
        if (!part.error.empty() && report.failures.size() < kMostFailuresNamed)
          report.failures.push_back({part.point, part.name, part.error, false});
      });
    report.findings = folder_->finish(account);
    report.account = std::move(account);
    report.notes = report.account.notes;
    return report;
  }

  const fs::path out_;
  const Machine machine_;
  std::optional<Experiment> experiment_;
  std::optional<Study> study_;
  std::unique_ptr<ResultFolder> folder_;      // of an experiment
  std::unique_ptr<ResultParts> study_parts_;  // of a study
  PointSet there_;
};

Merge::Merge(PartFile& like, const fs::path& out, bool force)
    : to_(std::make_unique<Destination>(like, out, force)) {}
Merge::~Merge() = default;

bool Merge::complete() const { return to_->parts().complete(); }
bool Merge::add(PartFile& part, const std::atomic<bool>& stop) { return to_->add(part, stop); }
void Merge::abandon() { to_->parts().abandon(); }
PointSet Merge::missing() const { return to_->missing(); }
const Experiment* Merge::experiment() const { return to_->experiment(); }
std::uint32_t Merge::points() const { return to_->points(); }

void Merge::expect_all(const PointSet& points) const {
  const PointSet left = missing().without(points);
  if (!left.empty()) refuse_missing(left, this->points());
}

std::variant<RunReport, StudyReport> Merge::finish(const std::string& command) {
  return to_->finish(command);
}

namespace {

void refuse_a_part_as_destination(const std::vector<fs::path>& parts, const fs::path& out) {
  std::error_code error;
  for (const fs::path& part : parts)
    if (fs::equivalent(part, out, error))
      throw InputError({out.string(), 0}, "--out", "one of the parts", "another folder");
}

std::uint32_t points_of(const Configuration& configuration) {
  const Node* sweep = configuration.root.find("sweep");
  return sweep == nullptr ? 1 : Sweep(Field(*sweep, "sweep")).points();
}

// The points of parts that belong together; `first` is one of them.
PointSet points_of_all(const std::vector<fs::path>& parts, const PartFile& first, std::uint32_t of) {
  PointSet points = first.points(of);
  for (const fs::path& path : parts) {
    const PartFile part(path);
    if (const auto other = without_points(part.key()).difference(without_points(first.key())))
      part.refuse(*other, "the same as in " + first.name());
    points.add(part.points(of));
  }
  return points;
}

}  // namespace

MergeReport merge_parts(const std::vector<fs::path>& parts, const fs::path& out, bool force,
                        const std::string& command, const std::atomic<bool>& stop) {
  refuse_a_part_as_destination(parts, out);
  PartFile first(parts.front());
  const std::uint32_t of = points_of(configuration_of(first));
  const PointSet points = points_of_all(parts, first, of);
  const bool begun = !force && fs::exists(ResultParts::store_of(out));
  const bool was_there = fs::exists(out);
  const PointSet missing = PointSet::all(of).without(points);
  if (!begun && !missing.empty()) refuse_missing(missing, of);
  MergeReport report;
  report.merge = std::make_unique<Merge>(first, out, force);
  report.was_complete = report.merge->complete();
  if (report.was_complete) return report;
  report.merge->expect_all(points);
  try {
    for (const fs::path& path : parts) {
      PartFile part(path);
      report.interrupted = stop || !report.merge->add(part, stop);
      if (report.interrupted) return report;
      ++report.parts_added;
    }
  } catch (const InputError&) {
    if (!begun) report.merge->abandon();
    report.merge.reset();
    std::error_code ignored;
    if (!was_there) fs::remove(out, ignored);
    throw;
  }
  report.report = report.merge->finish(command);
  return report;
}

}  // namespace gangway
