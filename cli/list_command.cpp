#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "experiments/library.hpp"
#include "models/bounds/bound.hpp"
#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/world.hpp"
#include "workloads/source.hpp"
#include "workloads/taskset_generator.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

template <typename Entry>
Json registered() {
  Json list = Json::array();
  for (const Entry& entry : Registry<Entry>::all()) {
    Json item{{"name", entry.name}, {"summary", entry.summary}, {"parameters", Json::array()}};
    for (const Parameter& p : entry.parameters)
      item["parameters"].push_back({{"name", p.name},
                                    {"default", p.default_text()},
                                    {"range", p.range_text()},
                                    {"summary", p.summary}});
    list.push_back(std::move(item));
  }
  return list;
}

Json files(const std::string& what) {
  Json list = Json::array();
  for (const LibraryFile& file : library(what)) list.push_back({{"name", file.name}, {"path", file.path}});
  return list;
}

Json listed(const std::string& what) {
  if (what == "policies") return registered<PolicyEntry>();
  if (what == "mechanisms") return registered<MechanismEntry>();
  if (what == "generators") return registered<GeneratorEntry>();
  if (what == "kernels") return registered<KernelEntry>();
  if (what == "bounds") return registered<Bound>();
  if (what == "utilisations") return registered<UtilisationMethod>();
  if (what == "worlds") return registered<WorldEntry>();
  return files(what);
}

void print(const Json& list) {
  for (const Json& item : list) {
    const auto text = [](const Json& from, const char* key) { return from.value(key, std::string()); };
    fmt::print("{:<20} {}\n", text(item, "name"),
               item.contains("path") ? text(item, "path") : text(item, "summary"));
    for (const Json& p : item.value("parameters", Json::array()))
      fmt::print("    {:<18} {} (default {}; {})\n", text(p, "name"), text(p, "summary"), text(p, "default"),
                 text(p, "range"));
  }
}

}  // namespace

void add_list(CLI::App& app, int& code) {
  auto what = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("list", "show what there is");
  sub->add_option("what", *what,
                  "policies, devices, workloads, experiments, kernels, mechanisms, generators, utilisations, "
                  "bounds or "
                  "worlds")
      ->required()
      ->check(CLI::IsMember({"policies", "devices", "workloads", "experiments", "kernels", "mechanisms",
                             "generators", "utilisations", "bounds", "worlds"}));
  sub->add_flag("--json", *json, "for programs");
  sub->callback([what, json, &code] {
    const Json list = listed(*what);
    if (*json)
      fmt::print("{}\n", list.dump(1));
    else
      print(list);
    code = 0;
  });
}

}  // namespace gangway
