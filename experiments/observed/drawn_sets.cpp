#include "experiments/observed/drawn_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "models/bounds/measured_costs.hpp"
#include "models/error.hpp"
#include "models/input/document.hpp"
#include "models/input/table.hpp"
#include "models/input/yaml_writer.hpp"
#include "workloads/source.hpp"
#include "workloads/taskset_generator.hpp"

namespace gangway {
namespace {

constexpr int kMostDraws = 1000;
constexpr std::int64_t kFewest = 2, kMost = 5;  // tasks
constexpr double kOfMemory = 0.9;
constexpr std::int64_t kFarApart = 1'000'000'000'000;  // ns

// Quantities of samples.csv: by calls in a row, and, as in schedules, by the executor.
constexpr std::array<std::string_view, 4> kLaunches{"launch", "relaunch", "launch after another",
                                                    "launch after idle"};
constexpr std::array<std::string_view, 3> kPending{"pending work", "pending work of the whole",
                                                   "pending work after an eviction"};
constexpr std::array<std::string_view, 2> kRuns{"transformed", "transformed after another"};

template <std::size_t N>
bool is_one_of(std::string_view quantity, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), quantity) != names.end();
}

std::int64_t pick(Stream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}
double pick(Stream& random, double least, double most) { return least + (most - least) * random.uniform(); }

std::vector<double> shares(std::size_t tasks, double total, Stream& random) {
  return UtilisationMethods::named("uunifast-discard", "draw", "method").draw(tasks, total, 1, random);
}

std::int64_t times(std::int64_t ns, double factor) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(ns) * factor));
}

Node task_set_named(const std::string& name) {
  return yaml_mapping({{"kind", "taskset"}, {"version", "1"}, {"name", name}});
}

std::string ns_text(std::int64_t ns) { return fmt::format("{} ns", ns); }

// T8 does not depend on periods but for that they may be no shorter than what it says.
void shorten_periods(TaskSet& set, Stream& random) {
  const BoundReport report = bound_with_costs(set);
  auto& tasks = std::get<OwningTasks>(set.tasks).tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (const Rational* bound = report.tightest(i))
      tasks[i].period = *bound * Rational(pick(random, std::int64_t{100}, std::int64_t{300}), 100);
}

bool all_bounded(const TaskSet& set) {
  try {
    const BoundReport report = bound_with_costs(set);
    for (std::size_t i = 0; i < report.tasks.size(); ++i)
      if (report.tightest(i) == nullptr) return false;
    return true;
  } catch (const InputError&) {  // the step does not cover it
    return false;
  }
}

}  // namespace

MeasuredKernels::MeasuredKernels(const std::filesystem::path& folder, const std::string& mechanism) {
  const Node described = read_yaml(folder / "device.yaml");
  device = read_device(Field(described, ""));
  const Node listed = read_yaml(folder / "workload.yaml");
  for (const Client& client : read_clients(Field(listed, "")).clients)
    for (const Kernel& kernel : client.kernels)
      if (kernel.code) kernels.push_back({kernel.name, kernel.code_text, kernel.code});
  Table samples(folder / "samples.csv");
  const auto quantity = samples.column("quantity"), of = samples.column("mechanism"),
             whose = samples.column("kernel"), parameter = samples.column("parameter"),
             value = samples.column("value_ns");
  std::string chosen = mechanism;
  while (samples.next()) {
    const std::string_view what = samples.text(quantity);
    const bool launches = is_one_of(what, kLaunches), pending = is_one_of(what, kPending),
               runs = is_one_of(what, kRuns);
    if (!launches && !pending && !runs && what != "eviction") continue;
    if (chosen.empty()) chosen = samples.text(of);
    if (samples.text(of) != chosen) continue;
    const auto number = samples.number(value);
    if (!number) samples.refuse(value, "a time in ns");
    const auto ns = static_cast<std::int64_t>(std::ceil(*number));
    if (launches) launch_ns = std::max(launch_ns, ns);
    if (pending) pending_ns = std::max(pending_ns, ns);
    for (One& kernel : kernels) {
      if (samples.text(whose) != kernel.name) continue;
      if (runs) kernel.run_ns = std::max(kernel.run_ns, ns);
      if (what == "eviction" && samples.text(parameter) == "0")
        kernel.eviction_ns = std::max(kernel.eviction_ns, ns);
    }
  }
  std::erase_if(kernels, [](const One& kernel) { return kernel.run_ns == 0 || kernel.eviction_ns == 0; });
  if (kernels.empty())
    throw InputError({(folder / "samples.csv").string(), 0}, "kernel",
                     "no kernel with its time and evictions" + (chosen.empty() ? "" : " under " + chosen),
                     "a calibration of kernels with code");
}

DrawnSets::DrawnSets(MeasuredKernels measured, DrawnSetOptions options, std::uint64_t seed)
    : measured_(std::move(measured)), options_(std::move(options)), seed_(seed) {
  static const std::vector<std::string> keys{"lateness", "launch", "resume", "eviction", "ending", "block",
                                             "issue",    "stream", "refill", "change",   "clock"};
  for (const auto& [key, cost] : options_.costs)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw InputError({"--cost", 0}, "cost", quote(key), expected_names(key, keys));
}

TaskSet DrawnSets::draw(std::uint64_t number) const {
  const std::uint64_t forms = options_.queues ? 3 : 2;
  Stream random(seed_, "sets of measured kernels", {number});
  for (int tried = 0; tried < kMostDraws; ++tried) {
    TaskSet set = number % forms == 2 ? draw_queue(random) : draw_owners(random, number % forms == 1);
    set.name = fmt::format("set-{}", number);
    if (all_bounded(set)) return set;
  }
  throw RunError(fmt::format("{} draws gave no set {} whose tasks all have bounds", kMostDraws, number));
}

// Those given replace the usual ones; what the form does not know is refused when the set is read.
Node DrawnSets::costs(std::vector<std::pair<std::string, std::string>> usual) const {
  Node costs = yaml_mapping({});
  for (const auto& [key, cost] : usual) costs.put(key, Node::text(cost, Origin{"--cost", 0}));
  for (const auto& [key, cost] : options_.costs)
    if (Node* known = costs.find(key)) *known = Node::text(cost, Origin{"--cost", 0});
  return costs;
}

// As many as fit into the device's memory together.
std::vector<const MeasuredKernels::One*> DrawnSets::some_kernels(Stream& random) const {
  const std::int64_t wanted = pick(random, kFewest, kMost);
  const auto room = static_cast<std::int64_t>(kOfMemory * static_cast<double>(measured_.device.memory.count));
  std::int64_t taken = 0;
  std::vector<const MeasuredKernels::One*> chosen;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto& kernel = measured_.kernels[random.below(measured_.kernels.size())];
    if (taken + kernel.code->memory().count > room) continue;
    taken += kernel.code->memory().count;
    chosen.push_back(&kernel);
  }
  return chosen;
}

TaskSet DrawnSets::draw_owners(Stream& random, bool ring) const {
  const auto kernels = some_kernels(random);
  std::int64_t longest_eviction = 0;
  for (const auto* kernel : kernels) longest_eviction = std::max(longest_eviction, kernel->eviction_ns);
  const std::int64_t more_launch = times(measured_.launch_ns, options_.margin - 1);
  const std::int64_t pending = times(measured_.pending_ns, options_.margin);
  Node root = task_set_named("set");
  root.put("scheduler", yaml_text(ring ? "round-robin" : "fixed-priority"));
  if (ring)
    root.put("quantum", yaml_text(fmt::format("{} us", pick(random, std::int64_t{200}, std::int64_t{1500}))));
  root.put("costs", costs({{"lateness", "50 us"},
                           {"launch", ns_text(more_launch)},
                           {"resume", "20 us"},
                           {"eviction", ns_text(times(longest_eviction, options_.margin - 1) + pending)},
                           {"ending", ns_text(pending)},
                           {"block", "1 us"}}));
  struct Drawn {
    std::int64_t period;
    Node task;
  };
  const auto utilisations = shares(kernels.size(), pick(random, 0.2, 0.9), random);
  std::vector<Drawn> drawn;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& kernel = *kernels[i];
    const std::int64_t run = times(kernel.run_ns, 1 + options_.slack);
    const std::int64_t period = ring ? kFarApart : times(run, 1 / std::max(0.02, utilisations[i]));
    Node task = yaml_mapping({{"name", fmt::format("k{}-{}", i, kernel.name)},
                              {"c", ns_text(run)},
                              {"e", ns_text(kernel.eviction_ns)},
                              {"l", ns_text(measured_.launch_ns)},
                              {"T", ns_text(period)}});
    task.put("code", parse_yaml(kernel.code_text, "code"));
    drawn.push_back({period, std::move(task)});
  }
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Drawn& a, const Drawn& b) { return a.period < b.period; });
  std::vector<Node> tasks;
  for (Drawn& each : drawn) tasks.push_back(std::move(each.task));
  root.put("tasks", yaml_list(std::move(tasks)));
  TaskSet set = read_task_set(Field(root, ""));
  if (ring) shorten_periods(set, random);
  return set;
}

// Blocks such that threads are all that limits an SM: enough of them for none but threads to run out.
TaskSet DrawnSets::draw_queue(Stream& random) const {
  const Device& device = measured_.device;
  const std::int64_t m = device.sms * device.sm.threads;
  Node root = task_set_named("set");
  root.put("device", yaml_mapping({{"layout", "sm"},
                                   {"sms", std::to_string(device.sms)},
                                   {"threads", std::to_string(device.sm.threads)},
                                   {"channels", "8"}}));
  root.put("costs", costs({{"lateness", "50 us"},
                           {"issue", "20 us"},
                           {"stream", "6 us"},
                           {"refill", "2 us"},
                           {"change", "15 us"},
                           {"clock", "3 us"},
                           {"block", "2 us"}}));
  const std::int64_t tasks = pick(random, kFewest, kMost);
  const auto utilisations = shares(static_cast<std::size_t>(tasks), pick(random, 0.2, 0.8), random);
  std::vector<Node> drawn;
  const std::int64_t least = (device.sm.threads + device.sm.blocks - 1) / device.sm.blocks;
  for (std::int64_t i = 0; i < tasks; ++i) {
    const std::int64_t b = 32 * pick(random, std::max<std::int64_t>(1, (least + 31) / 32), std::int64_t{32});
    const std::int64_t at_once = device.sms * (device.sm.threads / b);
    const std::int64_t g = pick(random, std::max<std::int64_t>(1, at_once / 4), 4 * at_once);
    const std::int64_t w = times(1000, std::pow(10, pick(random, 1.7, 2.7)));  // 50 to 500 us
    const double all = static_cast<double>(g * b) * static_cast<double>(w) / static_cast<double>(m);
    const auto period =
        static_cast<std::int64_t>(all / std::max(0.02, utilisations[static_cast<std::size_t>(i)]));
    drawn.push_back(yaml_mapping({{"name", fmt::format("q{}", i)},
                                  {"C", ns_text(g * b * w)},
                                  {"g", std::to_string(g)},
                                  {"b", std::to_string(b)},
                                  {"T", ns_text(std::max(period, 3 * w))}}));
  }
  root.put("tasks", yaml_list(std::move(drawn)));
  return read_task_set(Field(root, ""));
}

}  // namespace gangway
