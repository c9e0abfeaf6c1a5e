#include "experiments/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "experiments/build.hpp"
#include "experiments/manifest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::vector<std::string> kFiles{"manifest.json", "summary.csv", "clients.csv", "jobs.csv",
                                      "published.csv"};

// A CSV field, quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? to_text(*value) : std::string();
}

std::string names(const Row& row) {
  std::string text;
  for (const auto& [name, value] : row) text += "," + name;
  return text + "\n";
}

std::string values(const Row& row) {
  std::string text;
  for (const auto& [name, value] : row) text += "," + number(value);
  return text + "\n";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

ResultFolder::ResultFolder(fs::path path, const Experiment& experiment, const std::string& world, bool force)
    : path_(std::move(path)),
      parts_(path_ / "parts"),
      experiment_(&experiment),
      key_(experiment.identity + " " + world + " " + build_identity()) {
  refuse_file(path_);
  lock();
  try {
    take_up(force);
  } catch (...) {
    unlock();
    throw;
  }
}

// Decides what of the folder's content can be used.
void ResultFolder::take_up(bool force) {
  const bool finished_here = fs::exists(path_ / "manifest.json");
  const Manifest manifest = finished_here && !force ? read_manifest(path_) : Manifest{};
  const std::string whose = fs::exists(parts_ / "key") ? read_file(parts_ / "key") : "";
  const std::string identity = finished_here ? manifest.identity : whose.substr(0, whose.find(' '));
  const bool other = !identity.empty() && identity != experiment_->identity;
  if (other && !force)
    throw InputError({path_.string(), 0}, "--out", "results of another configuration",
                     "an empty folder, or --force");
  complete_ = !force && finished_here && manifest.key == key_ && whose.empty();
  if (!complete_ && (force || finished_here || (!whose.empty() && whose != key_))) clear();
  if (!complete_) write_file(parts_ / "key", key_);
}

ResultFolder::~ResultFolder() {
  if (complete_) clear_parts();
  unlock();
}

void ResultFolder::unlock() {
  std::error_code ignored;
  fs::remove(parts_ / "lock", ignored);
  fs::remove(parts_, ignored);  // unless there is more in it
  ::close(lock_);
}

// Locks the folder for this process. A process that finishes removes the lock's file, so what was locked may
// be gone by then.
void ResultFolder::lock() {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    make_folder(parts_);
    lock_ = ::open((parts_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (lock_ < 0 && errno == ENOENT) continue;
    if (lock_ < 0) throw RunError("cannot write " + (parts_ / "lock").string() + ": " + std::strerror(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) break;
    struct stat ours {
    }, there{};
    if (::fstat(lock_, &ours) == 0 && ::stat((parts_ / "lock").c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino)
      return;
    ::close(lock_);
    lock_ = -1;
  }
  if (lock_ >= 0) ::close(lock_);
  throw RunError("another run is writing to " + path_.string());
}

// Removes what is ours and nothing else.
void ResultFolder::clear_parts() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts_, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "key" || name.starts_with("group-") || name.starts_with(".group-"))
      fs::remove(entry.path(), error);
  }
}

void ResultFolder::clear() const {
  for (const std::string& name : kFiles) fs::remove(path_ / name);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_ / "trace", error))
    if (entry.path().filename().string().starts_with("point-")) fs::remove(entry.path(), error);
  clear_parts();
}

std::optional<GroupRows> ResultFolder::part(std::size_t group) const {
  const fs::path file = parts_ / fmt::format("group-{}.json", group);
  if (!fs::exists(file) || (experiment_->write_jobs && !fs::exists(job_part(group)))) return std::nullopt;
  try {
    return GroupRows::from_json(Json::parse(read_file(file)));
  } catch (const Json::exception&) {
    return std::nullopt;  // damaged: played again
  }
}

fs::path ResultFolder::job_part(std::size_t group) const {
  return parts_ / fmt::format("group-{}.csv", group);
}

void ResultFolder::keep(std::size_t group, const GroupRows& rows) const {
  write_file(parts_ / fmt::format("group-{}.json", group), rows.json().dump());
}

template <typename Visit>
void ResultFolder::each_group(const std::vector<GroupRows>& groups, Visit visit) const {
  std::size_t group = 0;
  for (std::uint32_t p = 0; p < experiment_->points.size(); ++p)
    for (const ChosenPolicy& policy : experiment_->points[p].policies)
      visit(p, policy.label, groups[group++]);
}

std::string ResultFolder::text_of_summary(const std::vector<GroupRows>& groups) const {
  std::string text = "point,policy";
  for (const std::string& path : experiment_->swept) text += "," + field(path);
  text += names(groups.front().summary);
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    text += fmt::format("{},{}", point, policy);
    for (const std::string& value : experiment_->points[point].values) text += "," + field(value);
    text += values(rows.summary);
  });
  return text;
}

std::string ResultFolder::text_of_clients(const std::vector<GroupRows>& groups) const {
  std::string text = "point,policy,client" + names(groups.front().clients.front().second);
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    for (const auto& [client, row] : rows.clients)
      text += fmt::format("{},{},{}", point, policy, client) + values(row);
  });
  return text;
}

std::string ResultFolder::text_of_published(const std::vector<Verdict>& verdicts) const {
  std::string text =
      "figure,point,policy,client,metric,relation,published,measured,relative_error,class,group,verdict,"
      "note\n";
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const PublishedValue& v = experiment_->published[i];
    const std::string metric = v.relative_to.empty() ? v.metric : v.metric + "/" + v.relative_to;
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", v.figure, v.point, v.policy, v.client, metric,
                    v.relation, v.published, number(verdicts[i].measured), number(verdicts[i].relative_error),
                    v.class_name, v.group, verdicts[i].verdict, field(v.note));
  }
  return text;
}

std::string ResultFolder::text_of_manifest(const RunAccount& account) const {
  Json json{
      {"kind", "result"},
      {"version", 1},
      {"experiment", experiment_->name},
      {"identity", experiment_->identity},
      {"key", key_},
      {"world", account.world},
      {"seed", experiment_->seed},
      {"replications", experiment_->replications},
      {"gangway", build_version()},
      {"commit", build_commit()},
      {"compiler", build_compiler()},
      {"command", account.command},
      {"host",
       {{"cpu", host_cpu()},
        {"gpu", text_or_null(account.machine.gpu)},
        {"driver", text_or_null(account.machine.driver)}}},
      {"threads", account.threads},
      {"start", account.start},
      {"end", account.end},
      {"seconds", account.seconds},
      {"resumed", account.resumed},
      {"events", account.events},
      {"jobs", account.jobs},
      {"events_per_second", account.seconds > 0 ? static_cast<double>(account.events) / account.seconds : 0},
      {"jobs_per_second", account.seconds > 0 ? static_cast<double>(account.jobs) / account.seconds : 0}};
  json["configuration"] = Json::parse(experiment_->configuration);
  return json.dump(1) + "\n";
}

std::vector<Verdict> ResultFolder::finish(const std::vector<GroupRows>& groups, const RunAccount& account) {
  Measured measured;
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    for (const auto& [name, value] : rows.summary) measured.put(point, policy, "", name, value);
    for (const auto& [client, row] : rows.clients)
      for (const auto& [name, value] : row) measured.put(point, policy, client, name, value);
  });
  auto verdicts = judge(experiment_->published, measured);
  write_file(path_ / "summary.csv", text_of_summary(groups));
  write_file(path_ / "clients.csv", text_of_clients(groups));
  write_file(path_ / "published.csv", text_of_published(verdicts));
  if (experiment_->write_jobs) {
    NewFile jobs(path_ / "jobs.csv");
    jobs.write(kJobColumns);
    for (std::size_t g = 0; g < groups.size(); ++g) jobs.append_file(job_part(g));
    jobs.commit();
  }
  write_file(path_ / "manifest.json",
             text_of_manifest(account));  // last: its presence says that the rest is there
  complete_ = true;
  return verdicts;
}

}  // namespace gangway
