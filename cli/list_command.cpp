#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "experiments/library/listing.hpp"
#include "models/recording/file.hpp"
#include "models/recording/summary.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

void list_recording(const std::string& file, bool json) {
  const recording::Recording r = recording::read_recording(file);
  if (json) {
    fmt::print("{}\n", summary_json(r).dump(1, ' ', false, OrderedJson::error_handler_t::replace));
    return;
  }
  std::string command;
  for (const std::string& word : r.about.command) command += (command.empty() ? "" : " ") + word;
  if (!command.empty()) fmt::print("{}\n", command);
  if (r.about.source.empty())
    fmt::print("{}, {} cores, driver {}\n", r.about.cpu, r.about.cores, r.about.driver);
  else
    fmt::print("from a profile: {}\n", r.about.source);
  fmt::print("{}", recording::to_text(r, recording::summarise(r)));
  if (r.about.lost > 0) fmt::print("{} records are missing\n", r.about.lost);
  if (!r.about.trouble.empty()) fmt::print("{}\n", r.about.trouble);
}

std::string text(const OrderedJson& from, const char* key) { return from.value(key, std::string()); }

void print_metrics(const OrderedJson& list) {
  std::string file;
  for (const OrderedJson& item : list) {
    if (file != text(item, "file")) fmt::print("{}{}:\n", file.empty() ? "" : "\n", text(item, "file"));
    file = text(item, "file");
    const std::string better = text(item, "better");
    fmt::print("{:<24} {} ({}{})\n", text(item, "name"), text(item, "summary"), text(item, "unit"),
               better == "neither" ? "" : "; " + better + " is better");
  }
}

void print(const OrderedJson& list) {
  std::size_t width = 20;
  for (const OrderedJson& item : list) width = std::max(width, text(item, "name").size());
  for (const OrderedJson& item : list) {
    const std::string title = text(item, "title");
    const std::string about = !title.empty() ? title : text(item, item.contains("path") ? "path" : "summary");
    fmt::print("{:<{}} {}\n", text(item, "name"), width, about);
    for (const OrderedJson& p : item.value("parameters", OrderedJson::array()))
      fmt::print("    {:<18} {} (default {}; {})\n", text(p, "name"), text(p, "summary"), text(p, "default"),
                 text(p, "range"));
  }
}

}  // namespace

void add_list(CLI::App& app, int& code) {
  auto what = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* sub =
      app.add_subcommand("list", "list policies, mechanisms, devices and so on, or what is in a recording");
  sub->add_option("what", *what, "what to list, or a recording")
      ->required()
      ->type_name(value_type::kFile)
      ->check(
          [](const std::string& word) {
            if (recording::is_recording(word) || CLI::IsMember(listed_kinds())(word).empty())
              return std::string();
            std::error_code failed;
            return fmt::format("found {}, expected a recording, or one of {}",
                               fs::exists(word, failed) ? "another kind of file" : "no file of this name",
                               fmt::join(listed_kinds(), ", "));
          },
          fmt::format("{{{}}}", fmt::join(listed_kinds(), ",")));
  sub->add_flag("--json", *json, "print JSON");
  sub->callback([what, json, &code] {
    code = 0;
    if (recording::is_recording(*what)) return list_recording(*what, *json);
    const OrderedJson list = listed(*what);
    if (*json)
      fmt::print("{}\n", list.dump(1));
    else if (*what == "metrics")
      print_metrics(list);
    else
      print(list);
  });
}

}  // namespace gangway
