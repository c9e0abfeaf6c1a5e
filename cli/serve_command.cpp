#include <fmt/format.h>
#include <pwd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/named_values.hpp"
#include "experiments/running/slice_bound.hpp"
#include "hw/driver_facts.hpp"
#include "hw/intercept/known_driver.hpp"
#include "hw/live/daemon.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/gpu_claims.hpp"
#include "hw/live/memory/pinnable_memory.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/wanted.hpp"
#include "models/standard_error.hpp"

namespace gangway {
namespace {

struct ServeArguments {
  std::string policy;
  std::vector<std::string> parameters;
  std::string socket;
  std::string gpu = "0", place, move_window;
  std::uint32_t in_flight = 0;
  std::int64_t channels = 0;
  std::string drain_limit, linger, log, group;
  std::vector<std::string> priorities, weights, slos;
  bool overlap = false, held = false, prepare = false;
  std::string forms = "none";
  std::string memory = "native", capacity, host_memory;
};

// name=value pairs as the mapping that a file would have.
ParameterValues values_of(const PolicyEntry& entry, const std::vector<std::string>& pairs) {
  Node given = parse_yaml("{}", "--param");
  for (const auto& [name, value] : named_values("--param", pairs, "name", "a name"))
    given.put(name, Node::text(value, Origin{"--param", 0}));
  ParameterValues values(entry.parameters, Field(given, entry.name));
  for (const Parameter& parameter : entry.parameters)
    if (values.is_given(parameter) && !values.acts(parameter)) values.refuse_idle(parameter);
  return values;
}

Duration time_of(const std::string& option, const std::string& text, Duration standard) {
  if (text.empty()) return standard;
  const Node node = Node::text(text, Origin{option, 0});
  return Field(node, option.substr(2)).duration(Duration{1'000});
}

// USER=VALUE pairs of an option. `set`: puts the value into the user's rights.
template <typename Set>
void add_rights(std::map<uid_t, live::UserRights>& rights, const char* option,
                const std::vector<std::string>& pairs, const char* value, const Set& set) {
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError(
          {option, 0}, quote(pair), fmt::format("no USER={}", value),
          fmt::format("a user, =, and {}", std::string(value) == "TIME" ? "a time" : "a number"));
    const std::string user = pair.substr(0, equals);
    const passwd* known = getpwnam(user.c_str());
    if (known == nullptr) throw InputError({option, 0}, "user", quote(user), "a user of this machine");
    const Node text = Node::text(pair.substr(equals + 1), Origin{option, 0});
    set(rights[known->pw_uid], Field(text, user));
  }
}

std::map<uid_t, live::UserRights> rights_of(const ServeArguments& arguments) {
  std::map<uid_t, live::UserRights> rights;
  add_rights(rights, "--allow-priority", arguments.priorities, "N",
             [](live::UserRights& of, const Field& field) {
               of.priority = static_cast<std::int32_t>(field.integer(0, live::kMostPriority));
             });
  add_rights(rights, "--allow-weight", arguments.weights, "W",
             [](live::UserRights& of, const Field& field) { of.weight = field.number(0.001, 1000); });
  add_rights(rights, "--allow-slo", arguments.slos, "TIME",
             [](live::UserRights& of, const Field& field) { of.slo = field.duration(Duration{1'000}); });
  return rights;
}

std::uint64_t bytes_of(const std::string& option, const std::string& text) {
  const Node node = Node::text(text, Origin{option, 0});
  return static_cast<std::uint64_t>(Field(node, option.substr(2)).bytes().count);
}

std::uint64_t host_memory(const std::string& given) {
  if (given.empty()) return live::host_memory_to_pin();
  const std::uint64_t bytes = bytes_of("--host-memory", given), most = live::host_memory_in_all();
  if (bytes > most)
    throw InputError({"--host-memory", 0}, "host-memory", quote(given),
                     fmt::format("at most what this machine has: {} MiB", most >> 20));
  return bytes;
}

// The daemon's GPUs, its sockets, and how programs are placed. Returns what the driver says, if it had to be
// asked.
std::optional<DriverFacts> place(const ServeArguments& arguments, live::DaemonSettings& settings) {
  std::optional<DriverFacts> driver;
  if (live::one_gpu(arguments.gpu)) {
    const Node number = Node::text(arguments.gpu, Origin{"--gpu", 0});
    settings.gpus.front().number = static_cast<unsigned>(Field(number, "gpu").integer(0, kMostGpus - 1));
  } else {
    driver = driver_facts();
    settings.gpus = live::chosen_gpus("--gpu", arguments.gpu, live::gpus_of(*driver));
  }
  for (const live::GpuFacts& gpu : settings.gpus) {
    const std::string socket = live::default_socket(gpu.number);
    if (settings.socket.empty())
      settings.socket = socket;
    else if (arguments.socket.empty())
      settings.also.push_back(socket);
  }
  if (settings.gpus.size() == 1) {
    for (const auto& [option, value] :
         {std::pair("place", arguments.place), std::pair("move-window", arguments.move_window)})
      if (!value.empty())
        throw InputError({fmt::format("--{}", option), 0}, option, "one GPU",
                         "several: --gpu 0,1 or --gpu all");
    return driver;
  }
  if (!arguments.place.empty()) settings.place = live::place_named("--place", arguments.place);
  settings.moves.window = time_of("--move-window", arguments.move_window, settings.moves.window);
  return driver;
}

// Without a driver the daemon starts all the same: only its programs need one.
DriverFacts facts_if_there_is_a_driver() {
  try {
    return driver_facts();
  } catch (const RunError&) {
    return {};
  }
}

// The GPUs to claim: those that the driver has.
std::vector<live::GpuFacts> gpus_to_claim(const live::DaemonSettings& settings, const DriverFacts& driver) {
  if (settings.gpus.size() > 1 || driver.gpus.empty()) return settings.gpus;
  const unsigned number = settings.gpus.front().number;
  live::check_number("--gpu", number, driver);
  return {{number, driver.gpus[number].uuid, driver.gpus[number].name, driver.gpus[number].memory}};
}

// Options that would do nothing, or admit nobody.
void refuse_idle_options(const ServeArguments& arguments, const PolicyEntry& entry, const Policy& policy,
                         const ParameterValues& values, const live::DaemonSettings& settings) {
  const auto refuse = [](const char* option, const std::string& found, const std::string& expected) {
    throw InputError({std::string("--") + option, 0}, option, found, expected);
  };
  const std::string by_policy = "the policy " + entry.name;
  const bool native = policy.needs().has(Capability::native),
             grants = !native && !policy.needs().has(Capability::access);
  for (const auto& [option, given] :
       {std::pair("overlap", arguments.overlap), std::pair("in-flight", arguments.in_flight != 0),
        std::pair("linger", !arguments.linger.empty())})
    if (given && !grants) refuse(option, by_policy, "a policy that grants jobs");
  for (const auto& [option, given] : {std::pair("drain-limit", !arguments.drain_limit.empty()),
                                      std::pair("forms", arguments.forms != "none")})
    if (given && native) refuse(option, by_policy, "a policy that makes clients leave the GPU");
  for (const auto& [option, given] : {std::pair("capacity", !arguments.capacity.empty()),
                                      std::pair("host-memory", !arguments.host_memory.empty())})
    if (given && !settings.memory.managed) refuse(option, "--memory native", "managed, or checkpoint");
  if (arguments.channels == 0) return;
  const bool limits = std::any_of(entry.parameters.begin(), entry.parameters.end(),
                                  [](const Parameter& parameter) { return parameter.name == "channels"; });
  if (!limits) refuse("channels", by_policy, "a policy with the parameter `channels`");
  const std::int64_t each = values.integer("channels");
  if (each == 0) refuse("channels", "--param channels=0", "the most that one client may have, above 0");
  if (arguments.channels < each)
    refuse("channels", std::to_string(arguments.channels),
           fmt::format("at least the {} that one client may have", each));
}

int serve(const ServeArguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // who reads its output may go at any time
  const PolicyEntry& entry = Policies::named(arguments.policy, "--policy", "policy");
  live::DaemonSettings settings;
  settings.socket = arguments.socket;
  std::optional<DriverFacts> driver = place(arguments, settings);
  settings.group = arguments.group;
  settings.rights = rights_of(arguments);
  settings.gate.in_flight = arguments.in_flight;
  settings.gate.overlap = arguments.overlap;
  settings.held = arguments.held;
  if (arguments.channels > 0) settings.gate.channels = arguments.channels;
  settings.gate.drain_limit = time_of("--drain-limit", arguments.drain_limit, settings.gate.drain_limit);
  settings.gate.linger = time_of("--linger", arguments.linger, settings.gate.linger);
  settings.gate.linger_grows = arguments.linger.empty();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(
      arguments.log.empty() ? nullptr : std::fopen(arguments.log.c_str(), "w"), std::fclose);
  if (!arguments.log.empty() && log == nullptr)
    throw InputError({"--log", 0}, "log", quote(arguments.log),
                     std::string("a file that can be written: ") + std::strerror(errno));
  settings.log = log.get();
  settings.measures_use = true;
  settings.device_file = live::kDeviceFile;
  const ParameterValues values = values_of(entry, arguments.parameters);
  const std::shared_ptr<Policy> policy = entry.make(values);
  settings.another = [&] { return std::shared_ptr<Policy>(entry.make(values)); };
  settings.memory.whole = arguments.memory == "checkpoint";
  settings.memory.managed = arguments.memory != "native" || policy->needs().has(Capability::memory);
  refuse_idle_options(arguments, entry, *policy, values, settings);
  const bool migrates = settings.gpus.size() > 1 && settings.place == live::Place::migrate;
  if (migrates && settings.memory.managed && !settings.memory.whole)
    throw InputError({"--place", 0}, "place", "migrate, with managed memory",
                     "--memory native or checkpoint");
  if (migrates && arguments.forms != "none")
    throw InputError({"--place", 0}, "place", "migrate, with kernels that leave", "--forms none");
  const TakeForms forms = take_forms_named(arguments.forms);
  if (policy->needs().has(Capability::ranges) && !policy->needs().has(Capability::memory)) {
    if (settings.memory.managed)
      throw InputError({"--memory", 0}, "memory", arguments.memory + ", with slices of kernels", "native");
    if (forms == TakeForms::none)
      throw InputError(
          {"--forms", 0}, "forms", "none",
          "worth, or all: " + entry.name + " launches slices, and only kernels in forms have any");
  }
  // What stands behind a kernel that has left can hold up the copies of a move (hw/live/memory/README.md).
  if (settings.memory.managed && forms != TakeForms::none)
    throw InputError({"--forms", 0}, "forms", "kernels that leave, with managed memory", "none");
  settings.gate.forms = forms;
  if (arguments.prepare && settings.gate.forms == TakeForms::none)
    throw InputError({"--prepare", 0}, "forms", "none", "--forms worth, or all");
  if (arguments.prepare) settings.wanted = transform::wanted_folder(transform::cache_folder());
  settings.memory.host = host_memory(arguments.host_memory);
  if (!arguments.capacity.empty()) settings.memory.capacity = bytes_of("--capacity", arguments.capacity);
  if (settings.memory.managed) settings.memory.slice = time_slice_of(entry, values);
  // Else each synchronisation would end a turn, and could cost a move of all memory.
  settings.whole_jobs = settings.memory.slice.has_value() && policy->needs().has(Capability::evict);
  if (!driver) driver = facts_if_there_is_a_driver();  // in a child, so before the daemon has threads
  const std::vector<live::GpuFacts> its = gpus_to_claim(settings, *driver);
  if (settings.memory.whole || migrates) {
    settings.checkpoints = std::make_shared<live::CheckpointHelper>(settings.socket);
    settings.checkpoints->await_start();
  }
  live::Daemon daemon(entry.name, policy, settings);
  const live::GpuClaims claims(its);
  const std::atomic<bool>& stop = catch_interrupts();
  std::string gpus;
  for (const live::GpuFacts& gpu : settings.gpus) gpus += fmt::format(" {}", gpu.number);
  fmt::print(
      "{} at {}{}\n", entry.name, settings.socket,
      settings.gpus.size() == 1 ? "" : fmt::format(", on the GPUs{}, {}", gpus, text_of(settings.place)));
  if (settings.whole_jobs)
    to_stderr(
        "note: memory moves, so each program is one job, and its turns last a time slice, unless exec "
        "--jobs says otherwise\n");
  for (const std::string& line : claims.notes()) to_stderr("note: {}\n", line);
  if (!driver->library.empty() && driver->gpus.empty())
    to_stderr("note: the CUDA driver has no GPU here, so --gpu cannot be checked\n");
  if (driver->cuda > intercept::kKnownCuda)
    to_stderr(
        "note: the driver is of CUDA {}, newer than this build of Gangway ({}): its new functions bypass the "
        "gate; see functions_not_known in gangway status --json\n",
        cuda_version_text(driver->cuda), cuda_version_text(intercept::kKnownCuda));
  std::fflush(stdout);
  daemon.run(stop);
  return daemon.log_is_whole() ? 0 : 1;
}

}  // namespace

void add_serve(CLI::App& app, int& code) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* sub = app.add_subcommand("serve", "share GPUs among programs started by exec, under a policy");
  sub->add_option(
         "--policy", arguments->policy,
         "a policy that grants whole jobs (fcfs, piv, srt, frs, ...), launches slices of kernels (pkm), "
         "or controls access (disengaged-timeslice, ...)")
      ->required()
      ->type_name(value_type::kPolicy);
  sub->add_option("--param", arguments->parameters,
                  "a parameter of the policy (`gangway list policies` shows them)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--gpu", arguments->gpu,
                  "GPU to schedule, by the driver's number (default 0); several, such as 0,1; or all")
      ->type_name("N,...|all");
  sub->add_option(
         "--place", arguments->place,
         "on several GPUs, where programs that name none go: fixed, in turn; least-loaded (default), to the "
         "GPU with the least load; migrate, likewise, and programs move when the gain exceeds the cost")
      ->check(CLI::IsMember({"fixed", "least-loaded", "migrate"}));
  sub->add_option("--move-window", arguments->move_window,
                  "on several GPUs: the time over which load is measured (default 10 s)")
      ->type_name(value_type::kTime);
  sub->add_option("--socket", arguments->socket,
                  "where to listen (default " + live::default_socket() + ", with -N for GPU N from 1 on)")
      ->type_name(value_type::kFile);
  sub->add_option(
         "--channels", arguments->channels,
         "streams and contexts that all clients can have, for policies with the parameter `channels` "
         "(default 0: any number)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  sub->add_option("--group", arguments->group, "group whose users may connect, too");
  sub->add_option("--allow-priority", arguments->priorities,
                  "highest priority that this user may request (others: 0; root and the daemon's owner: any)")
      ->type_name("USER=N")
      ->allow_extra_args(false);
  sub->add_option("--allow-weight", arguments->weights,
                  "largest weight that this user may request (others: 1; root and the daemon's owner: any)")
      ->type_name("USER=W")
      ->allow_extra_args(false);
  sub->add_option(
         "--allow-slo", arguments->slos,
         "shortest objective that this user may set (others: none; root and the daemon's owner: any)")
      ->type_name("USER=TIME")
      ->allow_extra_args(false);
  sub->add_option("--in-flight", arguments->in_flight,
                  "limit on the submissions in flight of a client that a more urgent one can displace "
                  "(default 0: none)")
      ->check(CLI::Range(0U, live::kMostInFlight));
  sub->add_option("--drain-limit", arguments->drain_limit,
                  "how long a client may drain after its permit was taken, before it gets the permit back "
                  "(default 100 ms)")
      ->type_name(value_type::kTime);
  sub->add_option(
         "--linger", arguments->linger,
         "a grant ends when nothing of its job was on the device for this long (default 1 ms, or a "
         "tenth of the time that the two largest states take to move, if that is longer and one is away)")
      ->type_name(value_type::kTime);
  sub->add_option(
         "--memory", arguments->memory,
         "native: clients' memory stays on the GPU; managed: it leaves when not all of it fits; checkpoint: "
         "then the driver saves whole processes (default: native; managed under policies that move memory)")
      ->check(CLI::IsMember({"native", "managed", "checkpoint"}));
  sub->add_option(
         "--capacity", arguments->capacity,
         "if memory moves: how much of the GPU's memory clients may use (default: all that others do "
         "not use)")
      ->type_name(value_type::kSize);
  sub->add_option("--host-memory", arguments->host_memory,
                  "if memory moves: how much host memory all clients together may use (default: 80 % of what "
                  "is available now)")
      ->type_name(value_type::kSize);
  sub->add_flag("--overlap", arguments->overlap,
                "the next owner starts when the previous one's gate is closed, not when its work is over");
  sub->add_option(
         "--forms", arguments->forms,
         "which launches of prepared kernels take a form that can leave early or be sliced: none (default); "
         "worth, kernels that last 200 us or longer; all")
      ->check(CLI::IsMember({"none", "worth", "all"}));
  sub->add_flag("--prepare", arguments->prepare,
                "prepare modules that programs load unprepared, in the background, for their next start");
  sub->add_flag("--held", arguments->held,
                "if the daemon ends, its clients wait for a new one instead of continuing unscheduled");
  sub->add_option("--log", arguments->log, "CSV file with a line for every scheduling step")
      ->type_name(value_type::kFile);
  sub->callback([arguments, &code] { code = serve(*arguments); });
}

}  // namespace gangway
