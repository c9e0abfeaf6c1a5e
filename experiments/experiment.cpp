#include "experiments/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/library.hpp"
#include "experiments/printed.hpp"
#include "experiments/study.hpp"
#include "experiments/sweep.hpp"
#include "models/nearest.hpp"
#include "models/taskset.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// `set:` changes values inside the files that the experiment names.
void apply_set(Node& root) {
  const Node* given = root.find("set");
  if (given == nullptr) return;
  const Node set = *given;  // changing the tree may move it
  if (set.kind != Node::Kind::mapping) Field(set, "set").fail("a mapping from paths to values");
  for (const auto& [path, value] : set.entries) place(root, path, value.origin()) = value;
  std::erase_if(root.entries,
                [](const Node::Entry& entry) { return entry.key == "set"; });  // done once and for all
}

// Replaces names of workload and device by what they stand for; overrides of the names themselves come first.
void resolve_references(Node& root, const std::vector<Override>& overrides, const fs::path& folder) {
  for (const Override& change : overrides)
    if (change.path == "workload" || change.path == "device") apply(root, change);
  for (const auto& [key, what] : {std::pair{"workload", "workloads"}, std::pair{"device", "devices"}})
    if (Node* node = root.find(key)) *node = resolve(Field(*node, key), what, folder);
  apply_set(root);
  for (const Override& change : overrides)
    if (change.path != "workload" && change.path != "device") apply(root, change);
}

WorkloadSource read_workload(Mapping& m, const Device& device) {
  WorkloadSource workload(m.need("workload"), device);
  if (auto clients = m.maybe("clients")) workload.choose(*clients);
  return workload;
}

// What `above` says replaces what `below` says, key by key.
void lay_over(Node& below, const Node& above) {
  for (const auto& [key, value] : above.entries) {
    Node* there = below.find(key);
    if (there != nullptr && there->kind == Node::Kind::mapping && value.kind == Node::Kind::mapping)
      lay_over(*there, value);
    else
      below.put(key, value);
  }
}

// A policy's `device` is laid over the experiment's.
OwnDevice read_own_device(Mapping& m, const Field& changes) {
  if (!changes.is_mapping()) changes.fail("a mapping of what differs from the experiment's device");
  Node node = m.need("device").node();
  lay_over(node, changes.node());
  Device device = read_device(Field(node, changes.path()));
  WorkloadSource workload = read_workload(m, device);
  return {std::move(device), std::move(workload)};
}

Contender read_contender(Mapping& m, const Field& field, const ChosenMechanism& common) {
  Node policy = field.node();
  Contender contender{{}, common, std::nullopt};
  const auto of_its_own = [&](const char* key) -> std::optional<Field> {
    const Node* given = field.node().find(key);
    if (given == nullptr) return std::nullopt;
    std::erase_if(policy.entries, [&](const Node::Entry& entry) { return entry.key == key; });
    return Field(*given, field.path() + "." + key);
  };
  if (auto mechanism = of_its_own("mechanism")) contender.mechanism = choose<MechanismEntry>(*mechanism);
  const auto device = of_its_own("device");
  static_cast<ChosenPolicy&>(contender) = choose<PolicyEntry>(Field(policy, field.path()), true);
  if (device) contender.own = read_own_device(m, *device);
  return contender;
}

void read_permutations(const Field& field, Experiment& experiment) {
  experiment.all_permutations = field.is_scalar() && field.node().scalar == "all";
  if (!experiment.all_permutations)
    experiment.permutations = static_cast<std::uint32_t>(field.integer(1, 1'000'000));
}

// Where clients submit to channels of their own nobody uses other queues of the device's.
std::optional<Refusal> refusal_by_channels(const Client& client) {
  if (!client.native) return std::nullopt;
  return Refusal{"native: true", "no native clients where all submit to channels"};
}

// Native clients issue all of a job at once, others need the mechanism.
std::optional<Refusal> refusal_by_gpu(const Kernel& kernel, bool native, const Contender& policy,
                                      const Mechanism& mechanism, const Device& device) {
  if (native && kernel.gap > Duration{})
    return Refusal{"a gap in the program of a native client", "none, or arbitration: direct"};
  if (native) return std::nullopt;
  auto refused = mechanism.refusal(kernel, device);
  if (refused) refused->found += " under the mechanism " + quote(policy.mechanism.entry->name);
  return refused;
}

Capabilities needs_of(const Contender& contender) { return contender.entry->make(contender.values)->needs(); }

// Where the number of GPUs is given: in the policy's own device, or the experiment's.
Field field_of_gpus(Mapping& m, const Field& policy) {
  for (const auto& [device, path] : {std::pair(policy.node().find("device"), policy.path() + ".device"),
                                     std::pair(&m.need("device").node(), std::string("device"))})
    if (const Node* gpus = device != nullptr ? device->find("gpus") : nullptr) return {*gpus, path + ".gpus"};
  return m.need("device");
}

// Several GPUs are for policies that know of them, and have no queues of their own that anybody else uses.
void check_gpus(const Contender& contender, const Policy& policy, const Device& device,
                const Workload& clients, const Field& field) {
  if (device.gpus == 1) return;
  const auto found = fmt::format("{} GPUs", device.gpus);
  if (!policy.several_gpus())
    field.fail(found, "1 under the policy " + quote(contender.label) + ", which schedules one");
  for (const Client& client : clients.clients)
    if (client.native)
      field.fail(found + " with the native client " + quote(client.name), "1, or no native clients");
}

// Whether every client and kernel can be played under the policy.
void check_policy(const Contender& contender, const Point& point, const Field& workload, const Field& gpus) {
  const auto policy = contender.entry->make(contender.values);
  const auto mechanism = contender.mechanism.entry->make(contender.mechanism.values);
  const Device& device = point.device_of(contender);
  const Workload& clients = point.workload_of(contender).sample();
  const bool channels = uses_channels(*policy, device);
  const bool all_native = policy->needs().has(Capability::native);
  check_gpus(contender, *policy, device, clients, gpus);
  check_memory(clients, device, workload, policy->needs().has(Capability::memory));
  for (const Client& client : clients.clients)
    for (const Kernel& kernel : client.kernels) {
      auto refused = channels
                         ? refusal_by_channels(client)
                         : refusal_by_gpu(kernel, all_native || client.native, contender, *mechanism, device);
      if (!refused) refused = policy->refusal(kernel, device);
      if (refused)
        throw InputError(kernel.origin.line > 0 ? kernel.origin : workload.node().origin(),
                         workload.path() + ".clients." + client.name + ".kernels." + kernel.name,
                         refused->found, refused->expected);
    }
}

std::vector<Contender> read_policies(Mapping& m, const Point& point) {
  std::vector<Contender> policies;
  for (const Field& item : m.need("policies").items()) {
    policies.push_back(read_contender(m, item, point.mechanism));
    for (std::size_t i = 0; i + 1 < policies.size(); ++i)
      if (policies[i].label == policies.back().label)
        item.fail(quote(policies.back().label) + " a second time", "a label for one of them");
    check_policy(policies.back(), point, m.need("workload"), field_of_gpus(m, item));
  }
  std::sort(policies.begin(), policies.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
  return policies;
}

Point read_point(Mapping& m) {
  Point point;
  point.device = read_device(m.need("device"));
  point.workload = read_workload(m, point.device);
  point.mechanism = choose<MechanismEntry>(m.need("mechanism"));
  point.policies = read_policies(m, point);
  return point;
}

constexpr Duration kLeastWatchdog{1'000'000}, kMostWatchdog{3'600'000'000'000};

void read_settings(Mapping& m, Experiment& experiment) {
  read_header(m, "experiment");
  experiment.name = m.need("name").identifier();
  if (auto title = m.maybe("title")) experiment.title = title->text();
  if (auto permutations = m.maybe("permutations")) read_permutations(*permutations, experiment);
  if (auto n = m.maybe("replications"))
    experiment.replications = static_cast<std::uint32_t>(n->integer(1, 1'000'000));
  if (auto seed = m.maybe("seed")) experiment.seed = static_cast<std::uint64_t>(seed->integer(0, INT64_MAX));
  if (auto jobs = m.maybe("jobs")) experiment.write_jobs = jobs->boolean();
  if (auto s = m.maybe("standalone"))
    experiment.standalone_transformed = s->one_of({"transformed", "original"}) == "transformed";
  if (auto s = m.maybe("sigma")) experiment.sample_sigma = s->one_of({"population", "sample"}) == "sample";
  if (auto horizon = m.maybe("horizon")) experiment.horizon = horizon->duration(Duration{1});
  if (auto events = m.maybe("events"))
    experiment.by_block = events->one_of({"cohorts", "blocks"}) == "blocks";
  if (auto watchdog = m.maybe("watchdog"))
    experiment.watchdog = watchdog->duration(kLeastWatchdog, kMostWatchdog);
}

void check_workload(const Experiment& experiment, const Point& point, const Field& field) {
  const Node* given = field.node().find("permutations");
  const Origin origin = given != nullptr ? given->origin() : field.node().origin();
  const Workload& workload = point.workload->sample();
  const bool permuted = workload.arrivals && workload.arrivals->permuted;
  if (!permuted && (experiment.all_permutations || experiment.permutations > 1))
    throw InputError(origin, "permutations", "permutations of arrivals that are not permuted",
                     "1, or a workload with arrivals: {order: permuted}");
  if (experiment.all_permutations && workload.clients.size() > 8)
    throw InputError(origin, "permutations", fmt::format("all orders of {} clients", workload.clients.size()),
                     "all for at most 8 clients");
  for (const Client& client : workload.clients)
    if (!client.repeat.jobs && !experiment.horizon)
      throw InputError(field.node().origin(), "horizon", "nothing",
                       "a horizon, since client " + client.name + " is endless");
}

// Whether there is such a policy and client at that point.
void check_names(const std::string& policy, const std::string& client, const Point& point,
                 const Field& field) {
  std::vector<std::string> policies;
  std::vector<std::string> clients;
  for (const ChosenPolicy& known : point.policies) policies.push_back(known.label);
  for (const Client& known : point.workload->sample().clients) clients.push_back(known.name);
  const auto check = [&](const std::string& name, const std::vector<std::string>& known, const char* what) {
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      field.fail(fmt::format("the {} {}", what, quote(name)), expected_names(name, known));
  };
  check(policy, policies, "policy");
  check(client, clients, "client");
}

void check_clients_taken(const std::optional<TakenClients>& clients, const Point& point, const Field& field) {
  if (!clients) return;
  for (const auto* names : {&clients->of, &clients->except})
    for (const std::string& name : *names) check_names("", name, point, field);
}

void check_published(const PublishedValue& value, const Experiment& experiment, const Field& field) {
  const std::uint32_t base = value.relative_to_point.value_or(value.point);
  for (const std::uint32_t point : {value.last_point, base})
    if (point >= experiment.points.size())
      field.fail(fmt::format("point {}", point), fmt::format("a point below {}", experiment.points.size()));
  const Point& point = experiment.points[value.point];
  check_names(value.policy, value.client, point, field);
  check_names(value.minus, "", point, field);
  check_clients_taken(value.clients, point, field);
  const bool other_clients = !value.relative_to_client.empty() || value.relative_to_clients;
  if (value.relative_to_point && base == value.point && value.relative_to.empty() && !other_clients)
    field.fail("a value relative to itself", "another point, another policy or another client");
  check_names(value.relative_to.empty() ? value.policy : value.relative_to,
              other_clients ? value.relative_to_client : value.client, experiment.points[base], field);
  check_clients_taken(value.relative_to_clients, experiment.points[base], field);
}

void check_swept(const SweptPath& swept) {
  const std::string first = swept.path.substr(0, swept.path.find('.'));
  const std::vector<std::string> known{"workload", "clients", "device", "mechanism", "policies"};
  if (std::find(known.begin(), known.end(), first) == known.end())
    throw InputError(swept.values.front().origin(), "sweep." + swept.path, quote(first),
                     "a path that begins with " + expected_names(first, known));
}

Experiment interpret(const Node& root) {
  const Field top(root, "");
  Experiment experiment;
  Mapping settings = top.mapping();
  read_settings(settings, experiment);
  std::vector<SweptPath> sweep;
  if (auto field = settings.maybe("sweep")) sweep = read_sweep(*field);
  for (const SweptPath& swept : sweep) {
    check_swept(swept);
    experiment.swept.push_back(swept.path);
  }
  const auto published = settings.maybe("published");
  read_point(settings);  // the unswept file must be right by itself
  settings.finish();
  for_each_point(root, sweep, [&](const Node& changed, std::vector<std::string> values) {
    Mapping m = Field(changed, "").mapping();
    Point point = read_point(m);
    point.values = std::move(values);
    check_workload(experiment, point, top);
    for (const Contender& policy : point.policies)
      experiment.counts_slices = experiment.counts_slices || needs_of(policy).has(Capability::memory);
    experiment.points.push_back(std::move(point));
  });
  const bool none =
      published && published->node().kind == Node::Kind::sequence && published->node().items.empty();
  if (published && !none)
    for (const Field& item : published->items()) {
      experiment.published.push_back(read_published(item));
      check_published(experiment.published.back(), experiment, item);
    }
  refuse_repeated(experiment.published);
  return experiment;
}

Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides) {
  Node& root = configuration.root;
  resolve_references(root, overrides, configuration.folder);
  Experiment experiment = interpret(root);
  experiment.configuration = root.json().dump();
  experiment.identity = identity_of(experiment.configuration);
  return experiment;
}

}  // namespace

Experiment read_experiment(const std::string& given, const std::vector<Override>& overrides) {
  return read_experiment(read_configuration(given), overrides);
}

std::string check_file(const std::string& file) {
  const Configuration configuration{read_yaml(file), fs::path(file).parent_path(), ""};
  const Node& root = configuration.root;
  Mapping m = Field(root, "").mapping();
  std::string kind =
      m.need("kind").one_of({"experiment", "workload", "device", "taskset", "study", "printed"});
  if (kind == "experiment")
    read_experiment(configuration, {});
  else if (kind == "study")
    read_study(configuration, {});
  else if (kind == "printed")
    check_printed(read_printed(Field(root, "")), configuration.folder);
  else if (kind == "workload")
    read_clients(Field(root, ""));
  else if (kind == "taskset")
    read_task_set(Field(root, ""));
  else
    read_device(Field(root, ""));
  return kind;
}

}  // namespace gangway
