#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "experiments/library/doctor.hpp"
#include "models/utf8.hpp"

namespace gangway {
namespace {

void print_areas(const std::vector<Area>& areas) {
  for (const Area& area : areas) {
    fmt::print("{:<26} {}\n", area.name, area.yes() ? "yes" : "no");
    for (const Examined& part : area.parts)
      fmt::print("  {:<24} {:<3}  {}\n", part.what, part.yes ? "yes" : "no",
                 joined_lines(part.found + (part.advice.empty() ? "" : "; " + part.advice)));
  }
}

}  // namespace

void add_doctor(CLI::App& app, int& code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub =
      app.add_subcommand("doctor", "show what this machine can do, and what to install for the rest");
  sub->add_flag("--json", *json, "print JSON");
  sub->callback([json, &code] {
    const std::vector<Area> areas = examine_machine();
    if (*json)
      fmt::print("{}\n", examined_json(areas).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    else
      print_areas(areas);
    code = 0;
  });
}

}  // namespace gangway
