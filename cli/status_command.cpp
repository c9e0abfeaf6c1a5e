#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/status.hpp"
#include "models/error.hpp"
#include "models/input/field.hpp"
#include "models/shown.hpp"
#include "models/utf8.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;

struct StatusArguments {
  std::string socket, every;
  unsigned gpu = 0;
  bool json = false, prometheus = false;
};

std::string time_text(const Json& ns) { return ns.is_null() ? "-" : rounded_time({ns.get<std::int64_t>()}); }

std::string name_text(const Json& name) { return in_one_line(name.get<std::string>()); }

std::string share_text(const Json& share) {
  return share.is_null() ? "-" : fmt::format("{:.0f} %", 100 * share.get<double>());
}

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

void print_daemon(const Json& status) {
  const Json &totals = status["totals"], &gpus = status["gpus"];
  const auto number = [&](const char* key) { return totals[key].get<std::uint64_t>(); };
  const bool several = gpus.size() > 1;
  const std::string window = time_text(status["use_window_ns"]);
  fmt::print("{}, process {}, up {:.0f} s{}; so far {} clients, {} jobs, {} submissions\n",
             status["policy"].get<std::string>(), status["process"].get<std::int64_t>(),
             static_cast<double>(status["up_ns"].get<std::int64_t>()) / 1e9,
             several || gpus[0]["use"].is_null()
                 ? ""
                 : fmt::format(", GPU in use {} of the latest {}", share_text(gpus[0]["use"]), window),
             status["clients_so_far"].get<std::uint64_t>(), number("jobs"), number("submissions"));
  if (number("killed") + number("permits_returned") > 0)
    fmt::print("{} clients killed; {} permits returned, because work had not ended within the limit\n",
               number("killed"), number("permits_returned"));
  for (const Json& other : status["others"])
    fmt::print("process {} uses a GPU but is not a client of this daemon: {}\n",
               other["process"].get<std::int64_t>(), name_text(other["command"]).substr(0, 100));
  if (const auto unseen = status["processes_not_looked_at"].get<std::uint64_t>(); unseen > 0)
    fmt::print("{} processes of others may use a GPU: this user cannot look at them\n", unseen);
  for (const Json& gpu : gpus)
    if (several)
      fmt::print("GPU {}, {}: {} programs, {:.1f} GiB resident, in use {} of the latest {}\n",
                 gpu["number"].get<unsigned>(), name_text(gpu["name"]), gpu["programs"].get<std::uint64_t>(),
                 gib(gpu["resident"]), share_text(gpu["use"]), window);
  print_memory(status);
}

struct Column {
  std::string head;
  std::size_t least = 0;                            // characters: those of the head at least
  std::function<std::string(const Json&)> value{};  // of a client
  std::string usual{};                              // if all have it, there is no such column
};

std::vector<Column> columns(const Json& status) {
  const auto count = [](const char* key) {
    return [key](const Json& c) { return fmt::format("{}", c[key].get<std::uint64_t>()); };
  };
  const auto quantile = [](const char* of, const char* key) {
    return [of, key](const Json& c) { return time_text(c[of][key]); };
  };
  std::vector<Column> all;
  if (status["gpus"].size() > 1)
    all.push_back({"GPU", 3, [](const Json& c) { return fmt::format("{}", c["gpu"].get<unsigned>()); }});
  all.push_back({"process", 7, [](const Json& c) { return c["process"].dump(); }});
  all.push_back({"prio", 4, [](const Json& c) { return c["priority"].dump(); }, "0"});
  all.push_back(
      {"weight", 6, [](const Json& c) { return fmt::format("{:.4g}", c["weight"].get<double>()); }, "1"});
  all.push_back({"slo", 6, [](const Json& c) { return time_text(c["slo_ns"]); }, "-"});
  all.push_back({"access", 6, [](const Json& c) {
                   return c["access"].is_string() ? c["access"].get<std::string>() : c["access"].dump();
                 }});
  all.push_back({"use", 5, [](const Json& c) { return share_text(c["use"]); }});
  all.push_back({"jobs", 6, count("jobs")});
  all.push_back({"p50", 7, quantile("latency_ns", "p50")});  // of jobs
  all.push_back({"p99", 7, quantile("latency_ns", "p99")});
  all.push_back({"submitted", 9, count("submissions")});
  all.push_back({"under way", 9, count("outstanding")});
  all.push_back({"held", 7, [](const Json& c) { return time_text(c["held_ns"]); }});
  all.push_back({"decided", 7, quantile("decision_to_submission_ns", "p99")});
  if (!status["memory"].is_null()) {
    all.push_back({"memory", 8, [](const Json& c) { return c["memory"]["state"].get<std::string>(); }});
    all.push_back({"GiB", 5, [](const Json& c) {
                     return fmt::format("{:.1f}", gib(c["memory"]["resident"]) + gib(c["memory"]["away"]));
                   }});
    all.push_back({"moves", 5, [](const Json& c) {
                     return fmt::format("{}", c["memory"]["saves"].get<std::uint64_t>() +
                                                  c["memory"]["restores"].get<std::uint64_t>());
                   }});
  }
  return all;
}

// What needs somebody's attention.
void print_notes(const Json& clients) {
  for (const Json& c : clients) {
    const std::string who = fmt::format("{} ({})", name_text(c["name"]), c["process"].get<std::int64_t>());
    if (const auto unknown = c["functions_not_known"].get<std::uint64_t>(); unknown > 0)
      fmt::print("{}: requested {} functions of the driver that bypass the gate\n", who, unknown);
    const Json& without = c["without_daemon"];
    if (const auto times = without["times"].get<std::uint64_t>(); times > 0)
      fmt::print("{}: was without a daemon {} time{}, for {} in all\n", who, times, times == 1 ? "" : "s",
                 time_text(without["ns"]));
    if (c["whole_jobs_only"].get<bool>())
      fmt::print("{}: twice its work did not end in time, so it loses its permit between jobs only\n", who);
  }
}

void print_table(const Json& status) {
  print_daemon(status);
  const Json& clients = status["clients"];
  if (clients.empty()) return;
  std::vector<std::string> lines{"name"};
  for (const Json& c : clients) lines.push_back(name_text(c["name"]));
  constexpr std::size_t kLeastName = 12;
  std::size_t longest = kLeastName;
  for (const std::string& line : lines) longest = std::max(longest, line.size());
  for (std::string& line : lines) line = fmt::format("{:<{}}", line, longest);
  for (const Column& column : columns(status)) {
    std::vector<std::string> values{column.head};
    for (const Json& c : clients) values.push_back(column.value(c));
    if (!column.usual.empty() && std::all_of(values.begin() + 1, values.end(),
                                             [&](const std::string& value) { return value == column.usual; }))
      continue;
    std::size_t width = column.least;
    for (const std::string& value : values) width = std::max(width, value.size());
    for (std::size_t n = 0; n < lines.size(); ++n) lines[n] += fmt::format(" {:>{}}", values[n], width);
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  print_notes(clients);
}

// Processes with a context on some GPU that are no clients of this daemon. The daemon may look where this
// user may not.
void add_others(Json& status) {
  live::DeviceProcesses seen = live::processes_with(live::kDeviceFile);
  if (status["others"].is_array()) {
    live::DeviceProcesses earlier;
    for (const Json& other : status["others"])
      earlier.found.push_back({other["process"].get<pid_t>(), other["command"].get<std::string>()});
    earlier.not_looked_at = status["processes_not_looked_at"].get<std::size_t>();
    seen = live::completed(std::move(seen), earlier);
  }
  std::set<std::int64_t> clients;
  for (const Json& client : status["clients"]) clients.insert(client["process"].get<std::int64_t>());
  status["others"] = Json::array();
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

void print_total(const char* name, const char* help, const Json& value) {
  fmt::print("# HELP gangway_{0}_total {1}\n# TYPE gangway_{0}_total counter\ngangway_{0}_total {2}\n", name,
             help, value.get<std::uint64_t>());
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
  each("use", "Share of the use window (10 s, or --move-window) in which clients' work was on the GPU.",
       [](const Json& g) { return g["use"]; });
  each("capacity_bytes", "GPU memory that clients may use.",
       [](const Json& g) { return g["memory"].is_null() ? Json() : g["memory"]["capacity"]; });
  for (const auto& [name, help] : {std::pair("moves", "Moves of clients between GPUs."),
                                   std::pair("failed_moves", "Moves between GPUs that failed.")})
    print_total(name, help, status[name]);
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
  // Also of clients that came and went between two scrapes.
  const Json& totals = status["totals"];
  print_total("clients", "Clients so far.", status["clients_so_far"]);
  print_total("jobs", "Jobs that have begun, of all clients so far.", totals["jobs"]);
  print_total("submissions", "Calls that put work on the GPU, of all clients so far.", totals["submissions"]);
  print_total("killed", "Clients that the daemon has killed.", totals["killed"]);
  print_total("permits_returned", "Permits returned because work had not ended within the limit.",
              totals["permits_returned"]);
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
  const auto begin = [](const char* name, const char* kind, const char* help) {
    fmt::print("# HELP gangway_client_{0} {1}\n# TYPE gangway_client_{0} {2}\n", name, help, kind);
  };
  begin("use", "gauge", "Share of the use window (10 s, or --move-window) in which it had the GPU.");
  for (const Json& client : status["clients"])
    if (!client["use"].is_null())
      fmt::print("gangway_client_use{{{}}} {}\n", labels(client), client["use"].dump());
  begin("access", "gauge", "1 for what it may do now: as in the table, or how many submissions in flight.");
  for (const Json& client : status["clients"]) {
    const Json& access = client["access"];
    fmt::print("gangway_client_access{{{},access=\"{}\"}} 1\n", labels(client),
               access.is_string() ? access.get<std::string>() : access.dump());
  }
  begin("whole_jobs_only", "gauge", "1 if it twice failed to drain in time.");
  for (const Json& client : status["clients"])
    fmt::print("gangway_client_whole_jobs_only{{{}}} {}\n", labels(client),
               client["whole_jobs_only"].get<bool>() ? 1 : 0);
  begin("without_daemon_total", "counter", "How often it was without a daemon.");
  for (const Json& client : status["clients"])
    fmt::print("gangway_client_without_daemon_total{{{}}} {}\n", labels(client),
               client["without_daemon"]["times"].get<std::uint64_t>());
  begin("without_daemon_seconds_total", "counter", "For how long.");
  for (const Json& client : status["clients"])
    fmt::print("gangway_client_without_daemon_seconds_total{{{}}} {}\n", labels(client),
               client["without_daemon"]["ns"].get<double>() * 1e-9);
  for (const auto& [name, key, help] :
       {std::tuple("latency_seconds", "latency_ns", "Of the latest thousand jobs."),
        std::tuple("decision_seconds", "decision_to_submission_ns",
                   "From a decision until a held submission continued, at most.")}) {
    begin(name, "gauge", help);
    for (const Json& client : status["clients"])
      for (const auto& [quantile, percent] : {std::pair("0.5", "p50"), std::pair("0.99", "p99")})
        if (const Json& time = client[key][percent]; !time.is_null())
          fmt::print("gangway_client_{}{{{},quantile=\"{}\"}} {}\n", name, labels(client), quantile,
                     static_cast<double>(time.get<std::int64_t>()) * 1e-9);
  }
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
                      ", with -N for GPU N from 1 on; if there is none, the service's: " +
                      live::kServiceSocket + ", also with -N)")
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
