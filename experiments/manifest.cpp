#include "experiments/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/build.hpp"
#include "experiments/files.hpp"
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

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json manifest_json(const std::string& name, const std::string& identity, const std::string& key,
                   std::uint64_t seed, const std::string& configuration, const RunAccount& account) {
  Json json{
      {"kind", "result"},
      {"version", 1},
      {"experiment", name},
      {"identity", identity},
      {"key", key},
      {"world", account.world},
      {"seed", seed},
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
  if (!account.scheduler.empty()) json["scheduler"] = account.scheduler.json();
  json["configuration"] = Json::parse(configuration);
  return json;
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw InputError(fmt::format("{}: found no folder, expected a result folder", folder.string()));
  if (!fs::is_regular_file(file, error))
    throw InputError(fmt::format("{}: found no manifest.json, expected a folder that `gangway run` finished",
                                 folder.string()));
  const Json json = Json::parse(read_file(file), nullptr, false);
  if (!json.is_object() || text_of(json, "kind") != "result")
    throw InputError({file.string(), 1}, "kind", "no manifest of a result",
                     "the manifest.json that `gangway run` writes");
  return {text_of(json, "experiment"), text_of(json, "world"), text_of(json, "identity"),
          text_of(json, "key"),        wants_jobs(json),       json.value("events", 0.0)};
}

}  // namespace gangway
