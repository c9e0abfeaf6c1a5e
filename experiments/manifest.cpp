#include "experiments/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/files.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

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

}  // namespace

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
          text_of(json, "key"), wants_jobs(json)};
}

}  // namespace gangway
