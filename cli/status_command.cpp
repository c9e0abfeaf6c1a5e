#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/status.hpp"
#include "models/error.hpp"
#include "models/input/field.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;

struct Arguments {
  std::string socket = live::default_socket(), every;
  bool json = false;
};

std::string time_text(const Json& ns) {
  return ns.is_null() ? "-" : to_text(Duration{ns.get<std::int64_t>()});
}

// Control characters in names would reach the terminal.
std::string name_text(const Json& name) {
  std::string out;
  for (const char c : name.get<std::string>())
    out += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return out;
}

void print_table(const Json& status) {
  fmt::print("{}, process {}, up {:.0f} s, {} clients so far\n", status["policy"].get<std::string>(),
             status["process"].get<std::int64_t>(),
             static_cast<double>(status["up_ns"].get<std::int64_t>()) / 1e9,
             status["clients_so_far"].get<std::uint64_t>());
  if (status["clients"].empty()) return;
  fmt::print("{:<20} {:>8} {:>8} {:>7} {:>9} {:>8} {:>8} {:>12} {:>11} {:>8} {:>12} {:>10} {:>10}\n", "name",
             "process", "priority", "weight", "slo", "access", "jobs", "submissions", "outstanding", "held",
             "held/ms", "p50", "p99");
  for (const Json& c : status["clients"]) {
    const Json& access = c["access"];
    const Json& latency = c["decision_to_submission_ns"];
    fmt::print(
        "{:<20} {:>8} {:>8} {:>7.4g} {:>9} {:>8} {:>8} {:>12} {:>11} {:>8} {:>12.3f} {:>10} {:>10}\n",
        name_text(c["name"]), c["process"].get<std::int64_t>(), c["priority"].get<std::int64_t>(),
        c["weight"].get<double>(), time_text(c["slo_ns"]),
        access.is_string() ? access.get<std::string>() : fmt::format("{}", access.get<std::uint64_t>()),
        c["jobs"].get<std::uint64_t>(), c["submissions"].get<std::uint64_t>(),
        c["outstanding"].get<std::uint64_t>(), c["held"].get<std::uint64_t>(),
        static_cast<double>(c["held_ns"].get<std::uint64_t>()) / 1e6, time_text(latency["p50"]),
        time_text(latency["p99"]));
  }
}

void show(const Arguments& arguments) {
  const std::string text = live::ask_for_status(arguments.socket);
  if (arguments.json) {
    fmt::print("{}", text);
    return;
  }
  try {
    print_table(Json::parse(text));
  } catch (const Json::exception&) {
    throw RunError("the daemon at " + arguments.socket + " answers with what is no status");
  }
}

int status(const Arguments& arguments) {
  if (arguments.every.empty()) {
    show(arguments);
    return 0;
  }
  const Node node = Node::text(arguments.every, Origin{"--every", 0});
  const Duration period = Field(node, "every").duration(Duration{10'000'000});
  const auto& interrupted = catch_interrupts();
  while (!interrupted) {
    if (!arguments.json) fmt::print("\033[H\033[2J");
    show(arguments);
    std::fflush(stdout);
    const timespec pause{period.ns / 1'000'000'000, period.ns % 1'000'000'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}

}  // namespace

void add_status(CLI::App& app, int& code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("status", "what the daemon's clients do");
  sub->add_option("--socket", arguments->socket,
                  "where the daemon listens (default " + arguments->socket + ")");
  sub->add_flag("--json", arguments->json, "for programs (hw/live/README.md)");
  sub->add_option("--every", arguments->every, "again and again: 1 s");
  sub->callback([arguments, &code] { code = status(*arguments); });
}

}  // namespace gangway
