#include "experiments/results/manifest.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "experiments/library/build.hpp"
#include "experiments/results/files.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

// Whether the experiment wanted jobs.csv: yes unless it says otherwise.
bool wants_jobs(const Json& manifest) {
  const Json configuration = manifest.value("configuration", Json::object());
  if (!configuration.is_object() || !configuration.contains("jobs")) return true;
  const Json& jobs = configuration["jobs"];
  return jobs != Json(false) && jobs != Json("false");
}

// A list that somebody damaged is none: then all files are taken for changed.
std::optional<ResultFiles> files_of(const Json& manifest) {
  const auto list = manifest.find("files");
  if (list == manifest.end() || !list->is_object()) return std::nullopt;
  ResultFiles files;
  for (const auto& [name, facts] : list->items())
    if (facts.is_object() && facts.contains("bytes") && facts["bytes"].is_number_unsigned())
      files[name] = {facts["bytes"].get<std::uintmax_t>(), text_of(facts, "sha256")};
    else
      return std::nullopt;
  return files;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::optional<std::string> ResultKey::difference(const ResultKey& ours) const {
  if (identity != ours.identity) return "results of another configuration";
  if (world != ours.world) return "results of the world " + quote(world);
  if (program != ours.program) return "results of another build of gangway";
  if (machine != ours.machine) return "results measured on another machine (" + machine + ")";
  if (client_programs != ours.client_programs) return "results of clients' programs that have changed";
  if (points != ours.points)
    return points.empty() ? "results of all points" : "a part, of the points " + points;
  return std::nullopt;
}

Json ResultKey::json() const {
  Json json{{"identity", identity}, {"world", world}, {"program", program}, {"machine", machine}};
  if (!points.empty()) json["points"] = points;
  if (!client_programs.empty()) json["client_programs"] = client_programs;
  return json;
}

ResultKey ResultKey::from_json(const Json& json) {
  return {text_of(json, "identity"), text_of(json, "world"),  text_of(json, "program"),
          text_of(json, "machine"),  text_of(json, "points"), text_of(json, "client_programs")};
}

ResultKey key_of(const std::string& identity, const WorldEntry& world, const Machine& machine) {
  std::string measured;
  if (world.real_time)
    for (const std::string& part : {host_cpu(), machine.gpu, machine.driver})
      if (!part.empty()) measured += (measured.empty() ? "" : ", ") + part;
  return {identity, world.name, program_hash(), measured, ""};
}

Json manifest_json(const std::string& name, const ResultKey& key, std::optional<std::uint64_t> seed,
                   const std::string& configuration, const RunAccount& account) {
  Json json{
      {"kind", key.points.empty() ? kWholeResult : kPartOfResult},
      {"version", 1},
      {"experiment", name},
      {"identity", key.identity},
      {"world", key.world},
      {"program", key.program},
      {"machine", key.machine},
      {"seed", seed ? Json(*seed) : Json()},
      {"gangway", build_version()},
      {"commit", build_commit()},
      {"compiler", build_compiler()},
      {"command", account.command},
      {"host",
       {{"cpu", account.cpus.empty() ? host_cpu() : account.cpus},
        {"gpu", text_or_null(account.machine.gpu)},
        {"driver", text_or_null(account.machine.driver)}}},
      {"threads", account.threads},
      {"start", account.start},
      {"end", account.end},
      {"seconds", account.seconds},
      {"resumed", account.resumed},
      {"failed", account.failed},
      {"events", account.events},
      {"jobs", account.jobs},
      {"events_per_second", account.seconds > 0 ? static_cast<double>(account.events) / account.seconds : 0},
      {"jobs_per_second", account.seconds > 0 ? static_cast<double>(account.jobs) / account.seconds : 0}};
  if (!key.points.empty()) json["points"] = key.points;
  if (!key.client_programs.empty()) json["client_programs"] = key.client_programs;
  if (account.merged_parts > 0) json["merged_parts"] = account.merged_parts;
  if (!account.scheduler.empty()) json["scheduler"] = account.scheduler.json();
  for (const RecordedMachine& m : account.recordings)
    json["recordings"].push_back(
        {{"client", m.client},
         {"gpu", m.gpu},
         {"sms", m.sms},
         {"memory", m.memory.count},
         {"device", {{"name", m.device}, {"sms", m.device_sms}, {"memory", m.device_memory.count}}},
         {"another_device", m.is_another()}});
  if (!account.best_cases.empty()) json["best_cases"] = account.best_cases;
  if (!account.notes.empty()) json["notes"] = account.notes;
  if (!account.warnings.empty()) json["warnings"] = account.warnings;
  json["files"] = Json::object();
  json["configuration"] = Json::parse(configuration);
  return json;
}

Json with_files(Json manifest, const ResultFiles& files) {
  Json& list = manifest["files"] = Json::object();
  for (const auto& [name, facts] : files) list[name] = {{"bytes", facts.bytes}, {"sha256", facts.sha256}};
  return manifest;
}

void list_file(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / "manifest.json";
  Json json = Json::parse(read_file(file));
  const FileFacts facts = facts_of(folder / name);
  json["files"][name] = {{"bytes", facts.bytes}, {"sha256", facts.sha256}};
  write_file(file, json.dump(1) + "\n");
}

Manifest read_manifest(const fs::path& folder) {
  Manifest manifest = read_manifest_of_any(folder);
  if (!manifest.key.points.empty())
    throw InputError(
        fmt::format("{}: found a part of results, of the points {}, expected all of them, as "
                    "`gangway merge` joins them",
                    folder.string(), manifest.key.points));
  return manifest;
}

std::vector<std::string> changed_tables(const std::filesystem::path& folder) {
  std::vector<std::string> changed;
  const Manifest manifest = read_manifest(folder);
  if (!manifest.files) return changed;  // of an older program
  for (const auto& [name, facts] : *manifest.files)
    if (name.ends_with(".csv") &&
        !(std::filesystem::is_regular_file(folder / name) && facts_of(folder / name) == facts))
      changed.push_back(name);
  return changed;
}

Manifest read_manifest_of_any(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw InputError(fmt::format("{}: found no folder, expected a result folder", folder.string()));
  if (!fs::is_regular_file(file, error))
    throw InputError(fmt::format("{}: found no manifest.json, expected a folder that `gangway run` finished",
                                 folder.string()));
  auto manifest = read_manifest_file(file);
  if (!manifest)
    throw InputError({file.string(), 1}, "kind", "not the manifest of a result",
                     "the manifest.json that `gangway run` writes");
  return std::move(*manifest);
}

std::optional<Manifest> read_manifest_file(const fs::path& file) {
  const Json json = Json::parse(read_file(file), nullptr, false);
  const std::string kind = json.is_object() ? text_of(json, "kind") : "";
  if (kind != kWholeResult && kind != kPartOfResult) return std::nullopt;
  Manifest manifest{text_of(json, "experiment"), ResultKey::from_json(json), wants_jobs(json), 0, {}};
  if (const auto failed = json.find("failed"); failed != json.end() && failed->is_number_unsigned())
    manifest.failed = failed->get<std::uint64_t>();
  manifest.events = json.value("events", 0.0);
  manifest.files = files_of(json);
  manifest.version = text_of(json, "gangway");
  manifest.commit = text_of(json, "commit");
  if (const auto notes = json.find("notes"); notes != json.end() && notes->is_array())
    for (const Json& note : *notes)
      if (note.is_string()) manifest.notes.push_back(note.get<std::string>());
  if (const auto seed = json.find("seed"); seed != json.end() && seed->is_number_unsigned())
    manifest.seed = seed->get<std::uint64_t>();
  if (const auto count = json.find("replications"); count != json.end() && count->is_number_unsigned())
    manifest.replications = count->get<std::uint32_t>();
  if (const auto configuration = json.find("configuration");
      configuration != json.end() && configuration->is_object())
    for (const auto& [key, value] :
         {std::pair{"sigma", &manifest.sigma}, {"standalone", &manifest.standalone}})
      if (const auto given = configuration->find(key); given != configuration->end() && given->is_string())
        *value = given->get<std::string>();
  return manifest;
}

}  // namespace gangway
