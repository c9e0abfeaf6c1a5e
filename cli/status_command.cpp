#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/status.hpp"
#include "models/error.hpp"
#include "models/input/field.hpp"
#include "models/utf8.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;

struct StatusArguments {
  std::string socket, every;
  unsigned gpu = 0;
  bool json = false, prometheus = false;
};

std::string time_text(const Json& ns) {
  return ns.is_null() ? "-" : to_text(Duration{ns.get<std::int64_t>()});
}

std::string name_text(const Json& name) { return in_one_line(name.get<std::string>()); }

double gib(const Json& bytes) { return static_cast<double>(bytes.get<std::uint64_t>()) / (1 << 30); }

// Of one GPU whose clients' memory can leave it.
void print_memory(const Json& status) {
  const Json& memory = status["memory"];
  if (memory.is_null()) return;
  double resident = 0, away = 0;
  for (const Json& client : status["clients"]) {
    resident += gib(client["memory"]["resident"]);
    away += gib(client["memory"]["away"]);
  }
  fmt::print("memory: {:.1f} GiB on the GPU{}, {:.1f} GiB away{}\n", resident,
             memory["capacity"].is_null() ? "" : fmt::format(" of {:.1f} GiB", gib(memory["capacity"])), away,
             status["checkpoints"] == false ? "; processes cannot be checkpointed any more" : "");
}

void print_memory_of(const Json& memory) {
  fmt::print(" {:>8} {:>5.1f} {:>5}", memory["state"].get<std::string>(),
             gib(memory["resident"]) + gib(memory["away"]),
             memory["saves"].get<std::uint64_t>() + memory["restores"].get<std::uint64_t>());
}

void print_table(const Json& status) {
  fmt::print("{}, process {}, up {:.0f} s, {} clients so far\n", status["policy"].get<std::string>(),
             status["process"].get<std::int64_t>(),
             static_cast<double>(status["up_ns"].get<std::int64_t>()) / 1e9,
             status["clients_so_far"].get<std::uint64_t>());
  for (const Json& other : status["others"])
    fmt::print("process {} uses a GPU but is not a client of this daemon: {}\n",
               other["process"].get<std::int64_t>(), name_text(other["command"]).substr(0, 100));
  if (const auto unseen = status["processes_not_looked_at"].get<std::uint64_t>(); unseen > 0)
    fmt::print("{} processes of others may use a GPU: this user cannot look at them\n", unseen);
  const bool several = status["gpus"].size() > 1;
  for (const Json& gpu : status["gpus"])
    if (several)
      fmt::print("GPU {}, {}: {} programs, {:.1f} GiB resident, in use {:.0f} % of the time\n",
                 gpu["number"].get<unsigned>(), name_text(gpu["name"]), gpu["programs"].get<std::uint64_t>(),
                 gib(gpu["resident"]), gpu["use"].is_null() ? 0 : 100 * gpu["use"].get<double>());
  print_memory(status);
  if (status["clients"].empty()) return;
  const bool moves = !status["memory"].is_null();
  if (several) fmt::print("{:>3} ", "GPU");
  fmt::print("{:<20} {:>8} {:>8} {:>7} {:>9} {:>8} {:>8} {:>12} {:>11} {:>8} {:>12} {:>10} {:>10}{}\n",
             "name", "process", "priority", "weight", "slo", "access", "jobs", "submissions", "outstanding",
             "held", "held/ms", "p50", "p99",  // of jobs
             moves ? "   memory   GiB moves" : "");
  for (const Json& c : status["clients"]) {
    const Json& access = c["access"];
    const Json& latency = c["latency_ns"];
    if (several) fmt::print("{:>3} ", c["gpu"].get<unsigned>());
    fmt::print(
        "{:<20} {:>8} {:>8} {:>7.4g} {:>9} {:>8} {:>8} {:>12} {:>11} {:>8} {:>12.3f} {:>10} {:>10}",
        name_text(c["name"]), c["process"].get<std::int64_t>(), c["priority"].get<std::int64_t>(),
        c["weight"].get<double>(), time_text(c["slo_ns"]),
        access.is_string() ? access.get<std::string>() : fmt::format("{}", access.get<std::uint64_t>()),
        c["jobs"].get<std::uint64_t>(), c["submissions"].get<std::uint64_t>(),
        c["outstanding"].get<std::uint64_t>(), c["held"].get<std::uint64_t>(),
        static_cast<double>(c["held_ns"].get<std::uint64_t>()) / 1e6, time_text(latency["p50"]),
        time_text(latency["p99"]));
    if (moves) print_memory_of(c["memory"]);
    fmt::print("\n");
  }
}

// Processes with a context on some GPU that are no clients of this daemon.
void add_others(Json& status) {
  std::set<std::int64_t> clients;
  for (const Json& client : status["clients"]) clients.insert(client["process"].get<std::int64_t>());
  status["others"] = Json::array();
  const live::DeviceProcesses seen = live::processes_with(live::kDeviceFile);
  status["processes_not_looked_at"] = seen.not_looked_at;
  for (const live::DeviceProcess& other : seen.found)
    if (clients.count(other.process) == 0)
      status["others"].push_back({{"process", other.process}, {"command", other.command}});
}

// A label's value in Prometheus' text format.
std::string label(const Json& text) {
  std::string out;
  for (const char c : text.get<std::string>()) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void print_gpus(const Json& status) {
  const auto each = [&](const char* name, const char* help, const auto& value) {
    fmt::print("# HELP gangway_gpu_{0} {1}\n# TYPE gangway_gpu_{0} gauge\n", name, help);
    for (const Json& gpu : status["gpus"])
      if (const Json found = value(gpu); !found.is_null())
        fmt::print("gangway_gpu_{}{{gpu=\"{}\"}} {}\n", name, gpu["number"].get<unsigned>(), found.dump());
  };
  each("programs", "Clients on the GPU, and programs placed there that are not clients yet.",
       [](const Json& g) { return g["programs"]; });
  each("resident_bytes", "Memory that clients hold on the GPU.", [](const Json& g) { return g["resident"]; });
  each("use", "Share of the window in which clients' work was on the GPU.",
       [](const Json& g) { return g["use"]; });
  each("capacity_bytes", "GPU memory that clients may use.",
       [](const Json& g) { return g["memory"].is_null() ? Json() : g["memory"]["capacity"]; });
  for (const auto& [name, help] : {std::pair("moves", "Moves of clients between GPUs."),
                                   std::pair("failed_moves", "Moves between GPUs that failed.")})
    fmt::print("# HELP gangway_{0}_total {1}\n# TYPE gangway_{0}_total counter\ngangway_{0}_total {2}\n",
               name, help, status[name].get<std::uint64_t>());
}

void print_prometheus(const Json& status) {
  struct Metric {
    const char *name, *kind, *help, *key;
    double scale;
  };
  static constexpr Metric kMetrics[] = {
      {"jobs_total", "counter", "Jobs that have begun.", "jobs", 1},
      {"submissions_total", "counter", "Calls that put work on the GPU.", "submissions", 1},
      {"outstanding", "gauge", "Submissions not known to be over.", "outstanding", 1},
      {"held_total", "counter", "Submissions that had to wait at the gate.", "held", 1},
      {"held_seconds_total", "counter", "How long they waited.", "held_ns", 1e-9},
      {"waiting_threads", "gauge", "Threads that wait at the gate.", "waiting_threads", 1},
      {"past_the_limit_total", "counter", "Submissions that passed without room in flight.",
       "past_the_limit_in_flight", 1},
      {"launches_in_forms_total", "counter", "Launches of kernels that can leave before their end.",
       "launches_in_forms", 1},
      {"slices_total", "counter", "Slices of kernels launched.", "slices", 1},
      {"evictions_total", "counter", "Kernels that left before their end.", "evictions", 1},
      {"failed_launches_total", "counter", "Launches whose rest the driver refused.", "failed_launches", 1},
      {"kernels_that_wait", "gauge", "Kernels that run as they are, because they waited for later blocks.",
       "kernels_that_wait", 1},
      {"kernels_with_forms", "gauge", "Kernels of prepared modules that can leave.", "kernels_with_forms", 1},
      {"kernels_without_forms", "gauge", "Kernels of prepared modules that cannot.", "kernels_without_forms",
       1},
      {"functions_not_known", "gauge", "Functions of the driver that do not pass the gate.",
       "functions_not_known", 1}};
  fmt::print("# HELP gangway_up_seconds Since the daemon listens.\n# TYPE gangway_up_seconds gauge\n");
  fmt::print("gangway_up_seconds{{policy=\"{}\"}} {}\n", label(status["policy"]),
             static_cast<double>(status["up_ns"].get<std::int64_t>()) * 1e-9);
  fmt::print("# HELP gangway_clients_total Clients so far.\n# TYPE gangway_clients_total counter\n");
  fmt::print("gangway_clients_total {}\n", status["clients_so_far"].get<std::uint64_t>());
  fmt::print(
      "# HELP gangway_other_processes Processes on a GPU that are no clients of this daemon.\n# TYPE "
      "gangway_other_processes gauge\ngangway_other_processes {}\n",
      status["others"].size());
  fmt::print(
      "# HELP gangway_processes_not_looked_at Further ones, which may be on a GPU.\n# TYPE "
      "gangway_processes_not_looked_at gauge\ngangway_processes_not_looked_at {}\n",
      status["processes_not_looked_at"].get<std::uint64_t>());
  print_gpus(status);
  const auto labels = [](const Json& client) {
    return fmt::format("name=\"{}\",process=\"{}\",gpu=\"{}\"", label(client["name"]),
                       client["process"].get<std::int64_t>(), client["gpu"].get<unsigned>());
  };
  for (const Metric& metric : kMetrics) {
    fmt::print("# HELP gangway_client_{0} {1}\n# TYPE gangway_client_{0} {2}\n", metric.name, metric.help,
               metric.kind);
    for (const Json& client : status["clients"])
      fmt::print("gangway_client_{}{{{}}} {}\n", metric.name, labels(client),
                 static_cast<double>(client[metric.key].get<std::uint64_t>()) * metric.scale);
  }
  fmt::print(
      "# HELP gangway_client_latency_seconds Of the latest thousand jobs.\n# TYPE "
      "gangway_client_latency_seconds gauge\n");
  for (const Json& client : status["clients"])
    for (const auto& [quantile, key] : {std::pair("0.5", "p50"), std::pair("0.99", "p99")})
      if (const Json& time = client["latency_ns"][key]; !time.is_null())
        fmt::print("gangway_client_latency_seconds{{{},quantile=\"{}\"}} {}\n", labels(client), quantile,
                   static_cast<double>(time.get<std::int64_t>()) * 1e-9);
}

void show(const StatusArguments& arguments) {
  const std::string text = live::ask_for_status(arguments.socket);
  try {
    Json status = Json::parse(text);
    add_others(status);
    if (arguments.json)
      fmt::print("{}\n", status.dump(1, ' ', false, Json::error_handler_t::replace));
    else if (arguments.prometheus)
      print_prometheus(status);
    else
      print_table(status);
  } catch (const Json::exception&) {
    throw RunError("the daemon at " + arguments.socket + " answers with what is no status");
  }
}

int status(const StatusArguments& arguments) {
  if (arguments.every.empty()) {
    show(arguments);
    return 0;
  }
  const Node node = Node::text(arguments.every, Origin{"--every", 0});
  const Duration period = Field(node, "every").duration(Duration{10'000'000});
  const auto& stop = catch_interrupts();
  while (!stop) {
    if (!arguments.json && !arguments.prometheus) fmt::print("\033[H\033[2J");
    show(arguments);
    std::fflush(stdout);
    const timespec pause{period.ns / 1'000'000'000, period.ns % 1'000'000'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}

}  // namespace

void add_status(CLI::App& app, int& code) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* sub = app.add_subcommand("status", "show the daemon's clients");
  sub->add_option("--gpu", arguments->gpu, "GPU whose daemon to ask (default 0)")->check(CLI::Range(0U, 63U));
  sub->add_option("--socket", arguments->socket,
                  "where the daemon listens (default " + live::default_socket() +
                      ", with -N for GPU N from 1 on; else " + live::kServiceSocket + ", of the service)")
      ->type_name(value_type::kFile);
  sub->add_flag("--json", arguments->json, "print JSON; hw/live/README.md explains its keys");
  sub->add_flag("--prometheus", arguments->prometheus, "in Prometheus' text format")->excludes("--json");
  sub->add_option("--every", arguments->every, "repeat at this interval, such as 1 s")
      ->type_name(value_type::kTime);
  sub->callback([arguments, &code] {
    if (arguments->socket.empty()) arguments->socket = live::socket_to_join(arguments->gpu);
    code = status(*arguments);
  });
}

}  // namespace gangway
