#include "experiments/folder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/build.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::vector<std::string> kFiles{"manifest.json", "summary.csv", "clients.csv", "jobs.csv",
                                      "published.csv"};

}  // namespace

ResultFolder::ResultFolder(fs::path path, const Experiment& experiment, const std::string& world, bool force)
    : experiment_(&experiment),
      parts_(std::move(path), experiment.identity, experiment.identity + " " + world + " " + build_identity(),
             kFiles, force) {}

std::optional<GroupRows> ResultFolder::part(std::size_t group) const {
  const fs::path file = parts_.part(fmt::format("group-{}.json", group));
  if (!fs::exists(file) || (experiment_->write_jobs && !fs::exists(job_part(group)))) return std::nullopt;
  try {
    return GroupRows::from_json(Json::parse(read_file(file)));
  } catch (const Json::exception&) {
    return std::nullopt;  // damaged: played again
  }
}

fs::path ResultFolder::job_part(std::size_t group) const {
  return parts_.part(fmt::format("group-{}.csv", group));
}

void ResultFolder::keep(std::size_t group, const GroupRows& rows) const {
  write_file(parts_.part(fmt::format("group-{}.json", group)), rows.json().dump());
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
  for (const std::string& path : experiment_->swept) text += "," + csv_field(path);
  text += "," + csv_names(groups.front().summary) + "\n";
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    text += fmt::format("{},{}", point, policy);
    for (const std::string& value : experiment_->points[point].values) text += "," + csv_field(value);
    text += "," + csv_values(rows.summary) + "\n";
  });
  return text;
}

std::string ResultFolder::text_of_clients(const std::vector<GroupRows>& groups) const {
  std::string text = "point,policy,client," + csv_names(groups.front().clients.front().second) + "\n";
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    for (const auto& [client, row] : rows.clients)
      text += fmt::format("{},{},{},{}\n", point, policy, client, csv_values(row));
  });
  return text;
}

std::string ResultFolder::text_of_published(const std::vector<Verdict>& verdicts,
                                            const StarvedCells& starved) const {
  std::string text =
      "figure,point,policy,client,metric,relation,published,measured,relative_error,class,group,verdict,"
      "note,printed,published_to,as,take,last_point\n";
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const PublishedValue& v = experiment_->published[i];
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", v.figure, v.point, v.policy, v.who(),
                        v.quantity(), v.relation, v.published, Cell(verdicts[i].measured).csv(),
                        Cell(verdicts[i].relative_error).csv(), v.class_name, v.group, verdicts[i].verdict,
                        csv_field(starved.note(v, verdicts[i])));
    text += fmt::format(",{},{},{},{},{}\n", v.printed, Cell(v.published_to).csv(), v.as, v.take,
                        v.take.empty() ? "" : std::to_string(v.last_point));
  }
  return text;
}

std::string ResultFolder::text_of_manifest(const RunAccount& account) const {
  Json json = manifest_json(experiment_->name, experiment_->identity, parts_.key(), experiment_->seed,
                            experiment_->configuration, account);
  json["replications"] = experiment_->replications;
  return json.dump(1) + "\n";
}

std::vector<Verdict> ResultFolder::finish(const std::vector<GroupRows>& groups, const RunAccount& account) {
  Measured measured;
  StarvedCells starved;
  each_group(groups, [&](std::uint32_t point, const std::string& policy, const GroupRows& rows) {
    starved.add(point, policy, cell(rows.summary, "starved").text());
    for (const auto& [name, value] : rows.summary) measured.put(point, policy, "", name, value.number());
    for (const auto& [client, row] : rows.clients)
      for (const auto& [name, value] : row) measured.put(point, policy, client, name, value.number());
  });
  auto verdicts = judge(experiment_->published, measured);
  write_file(path() / "summary.csv", text_of_summary(groups));
  write_file(path() / "clients.csv", text_of_clients(groups));
  write_file(path() / "published.csv", text_of_published(verdicts, starved));
  if (experiment_->write_jobs) {
    NewFile jobs(path() / "jobs.csv");
    jobs.write(kJobColumns);
    for (std::size_t g = 0; g < groups.size(); ++g) jobs.append_file(job_part(g));
    jobs.commit();
  }
  write_file(path() / "manifest.json",
             text_of_manifest(account));  // last: its presence says that the rest is there
  parts_.set_complete();
  return verdicts;
}

}  // namespace gangway
