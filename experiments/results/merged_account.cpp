#include "experiments/results/merged_account.hpp"

#include <algorithm>

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

Json host_of(const Json& manifest) { return manifest.value("host", Json::object()); }

std::string text_in(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string();
}

}  // namespace

MergedAccount::MergedAccount(const std::string& text)
    : json_(!text.empty() ? Json::parse(text)
                          : Json{{"parts", 0},
                                 {"seconds", 0.0},
                                 {"threads", 1},
                                 {"start", ""},
                                 {"end", ""},
                                 {"cpus", Json::array()}}) {}

void MergedAccount::add(const Json& manifest) {
  json_["parts"] = json_["parts"].get<std::uint64_t>() + 1;
  json_["seconds"] = json_["seconds"].get<double>() + manifest.value("seconds", 0.0);
  json_["threads"] = std::max(json_["threads"].get<unsigned>(), manifest.value("threads", 1u));
  const std::string first = text_in(json_, "start"), start = text_in(manifest, "start");
  if (first.empty() || start < first) json_["start"] = start;
  json_["end"] = std::max(text_in(json_, "end"), text_in(manifest, "end"));
  const Json cpu = text_in(host_of(manifest), "cpu");
  Json& cpus = json_["cpus"];
  if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) cpus.push_back(cpu);
}

RunAccount MergedAccount::run() const {
  RunAccount account;
  account.merged_parts = json_["parts"];
  account.seconds = json_["seconds"];
  account.threads = json_["threads"];
  account.start = json_["start"];
  account.end = json_["end"];
  for (const Json& cpu : json_["cpus"])
    account.cpus += (account.cpus.empty() ? "" : ", ") + cpu.get<std::string>();
  return account;
}

Machine machine_of(const Json& manifest) {
  const Json host = host_of(manifest);
  return {text_in(host, "gpu"), text_in(host, "driver")};
}

}  // namespace gangway
