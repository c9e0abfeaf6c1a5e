#include "experiments/sweeps/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/library/library.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "experiments/published/printed.hpp"
#include "experiments/studies/study.hpp"
#include "experiments/sweeps/data_files.hpp"
#include "experiments/sweeps/without_effect.hpp"
#include "models/bounds/measured_costs.hpp"
#include "models/nearest.hpp"
#include "models/recording/file.hpp"
#include "models/taskset.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// The values that a sweep gives a whole section, such as several devices; none where it does not.
std::vector<Node>* swept_values(Node& root, const std::string& section) {
  Node* sweep = root.find("sweep");
  if (sweep == nullptr) return nullptr;
  std::vector<Node>* items = nullptr;
  each_swept(*sweep, [&](const std::string& path, Node& values) {
    if (path == section && values.kind == Node::Kind::sequence) items = &values.items;
  });
  return items;
}

// Puts a value at its path, in each of several devices or workloads where the path leads into one.
void put_everywhere(Node& root, const std::string& path, const Origin& origin, const Node& value) {
  place(root, path, origin) = value;
  const std::string section = first_of(path);
  std::vector<Node>* swept = section != path ? swept_values(root, section) : nullptr;
  if (swept == nullptr) return;
  for (Node& item : *swept) {
    Node part;
    part.kind = Node::Kind::mapping;
    Node& labelled = *item.find("value");
    part.entries.push_back({section, std::move(labelled)});
    place(part, path, origin) = value;
    labelled = std::move(part.entries.front().value);
  }
}

bool contains(const Node& node, const Node* other) {
  return &node == other || std::any_of(node.items.begin(), node.items.end(), [&](const Node& item) {
    return contains(item, other);
  }) || std::any_of(node.entries.begin(), node.entries.end(), [&](const Node::Entry& entry) {
    return contains(entry.value, other);
  });
}

// Puts values at their paths, one after another. None may undo what an earlier one said, under whatever name.
class Puts {
 public:
  explicit Puts(Node& root) : root_(root) {}

  void put(const std::string& path, const Origin& origin, const Node& value) {
    Node trial = root_;
    const Node& target = place(trial, path, origin);
    for (const std::string& earlier : paths_)
      if (contains(target, &place(trial, earlier, origin)))
        throw InputError(origin, path, "a value that undoes the one for " + quote(earlier),
                         "one value for each path, and for parts of it only behind it");
    put_everywhere(root_, path, origin, value);
    paths_.push_back(path);
  }

 private:
  Node& root_;
  std::vector<std::string> paths_;
};

// `set:` changes values inside the files that the experiment names.
void apply_set(Node& root) {
  const Node* given = root.find("set");
  if (given == nullptr) return;
  const Node set = *given;  // changing the tree may move it
  if (set.kind != Node::Kind::mapping) Field(set, "set").fail("a mapping from paths to values");
  Puts puts(root);
  for (const auto& [path, value] : set.entries) puts.put(path, value.origin(), value);
  std::erase_if(root.entries,
                [](const Node::Entry& entry) { return entry.key == "set"; });  // done once and for all
}

// Makes each value of a sweep of whole files {label, value}: what it is called in result files, and what the
// file says. A mapping is called by its own name.
void resolve_swept(std::vector<Node>& values, const std::string& section, const std::string& what,
                   const fs::path& folder) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string path = fmt::format("sweep.{}.{}", section, i);
    Node& item = values[i];
    const LabelledValue labelled = read_labelled(Field(item, path));
    const Node given = labelled.value.node();
    const Node* name = given.kind == Node::Kind::mapping ? given.find("name") : &given;
    Node label = labelled.label    ? labelled.label->node()
                 : name != nullptr ? *name
                                   : Node::text(section, item);
    labels.push_back(Field(label, path).text());
    if (std::count(labels.begin(), labels.end(), labels.back()) > 1)
      Field(item, path).fail(quote(labels.back()) + " a second time", "{label, value} for one of them");
    Node value = resolve(Field(given, path), what, folder);
    if (value.kind != Node::Kind::mapping) Field(given, path).fail("a name, a file or a mapping");
    item.kind = Node::Kind::mapping;
    item.scalar.clear();
    item.entries = {{"label", std::move(label)}, {"value", std::move(value)}};
  }
}

// Replaces names of workload and device by what they stand for; overrides of the names themselves come first,
// and of what is swept.
void resolve_references(Node& root, const std::vector<Override>& overrides, const fs::path& folder) {
  const auto comes_first = [](const std::string& path) {
    return path == "workload" || path == "device" || first_of(path) == "sweep" || first_of(path) == "set";
  };
  for (const Override& change : overrides)
    if (comes_first(change.path)) apply(root, change);
  for (const auto& [key, what] : {std::pair{"workload", "workloads"}, std::pair{"device", "devices"}}) {
    if (std::vector<Node>* swept = swept_values(root, key); swept != nullptr && !swept->empty()) {
      resolve_swept(*swept, key, what, folder);
      const Node first = *swept->front().find("value");
      if (root.find(key) == nullptr) root.put(key, first);
    }
    if (Node* node = root.find(key)) *node = resolve(Field(*node, key), what, folder);
  }
  apply_set(root);
  Puts puts(root);
  for (const Override& change : overrides)
    if (!comes_first(change.path)) puts.put(change.path, {change.option, 0}, value_of(change, root));
}

void read_permutations(const Field& field, Experiment& experiment) {
  experiment.all_permutations = field.is_scalar() && field.node().scalar == "all";
  if (!experiment.all_permutations)
    experiment.permutations = static_cast<std::uint32_t>(field.integer(1, 1'000'000));
}

constexpr Duration kLeastWatchdog{1'000'000}, kMostWatchdog{3'600'000'000'000};

void read_settings(Mapping& m, Experiment& experiment) {
  read_header(m, "experiment");
  experiment.name = m.need("name").identifier();
  if (auto title = m.maybe("title")) experiment.title = title->text();
  if (auto permutations = m.maybe("permutations")) read_permutations(*permutations, experiment);
  if (auto n = m.maybe("replications"))
    experiment.replications = static_cast<std::uint32_t>(n->integer(1, 1'000'000));
  if (auto seed = m.maybe("seed")) experiment.seed = read_seed(*seed);
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

// A kernel that never ends would hold a device for ever whose policy waits for it. Elsewhere it ends, so that
// results would say nothing of it.
void refuse_endless_kernels(const Point& point) {
  const WorkloadPlace& place = point.workload->place();
  for (const Client& client : point.workload->sample().clients)
    for (const Kernel& kernel : client.kernels) {
      if (!kernel.never_ends) continue;
      for (const Contender& policy : point.policies)
        if (!uses_channels(needs_of(policy), point.device_of(policy)))
          throw InputError(kernel.origin.line > 0 ? kernel.origin : place.origin,
                           place.path + ".clients." + client.name + ".kernels." + kernel.name + ".never_ends",
                           fmt::format("{} under the policy {}", *kernel.never_ends, quote(policy.label)),
                           "policies that control access, or passthrough with arbitration: direct");
    }
}

// What the experiment as a whole says of every point's workload.
class WorkloadCheck {
 public:
  WorkloadCheck(const Experiment& experiment, const Node& root)
      : permuted_(experiment.all_permutations || experiment.permutations > 1),
        all_(experiment.all_permutations),
        ends_(experiment.horizon.has_value()),
        root_(root.origin()) {
    const Node* given = root.find("permutations");
    permutations_ = given != nullptr ? given->origin() : root_;
  }

  void operator()(const Point& point) const {
    const Workload& workload = point.workload->sample();
    if (permuted_ && !(workload.arrivals && workload.arrivals->permuted))
      throw InputError(permutations_, "permutations", "permutations of arrivals that are not permuted",
                       "1, or a workload with arrivals: {order: permuted}");
    if (all_ && workload.clients.size() > 8)
      throw InputError(permutations_, "permutations",
                       fmt::format("all orders of {} clients", workload.clients.size()),
                       "all for at most 8 clients");
    for (const Client& client : workload.clients)
      if (!client.repeat.jobs && !ends_)
        throw InputError(root_, "horizon", "nothing",
                         "a horizon, because client " + client.name + " is endless");
    refuse_endless_kernels(point);
  }

 private:
  bool permuted_, all_, ends_;
  Origin root_, permutations_;
};

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
  if (clients->except.size() == point.workload->sample().clients.size())
    field.fail("all clients in except", "at least one that is not");
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
  const bool has_base = value.relative_to_point || !value.relative_to.empty() || other_clients;
  const bool same_policy = value.relative_to.empty() || value.relative_to == value.policy;
  const bool same_client =
      !other_clients || (!value.client.empty() && value.relative_to_client == value.client);
  if (has_base && base == value.point && same_policy && same_client)
    field.fail("a value relative to itself", "another point, another policy or another client");
  if (value.minus == value.policy && !value.minus.empty() && !has_base)
    field.fail("a value minus itself", "another policy");
  check_names(value.relative_to.empty() ? value.policy : value.relative_to,
              other_clients ? value.relative_to_client : value.client, experiment.points[base], field);
  check_clients_taken(value.relative_to_clients, experiment.points[base], field);
  const std::string metric = value.metric.substr(0, value.metric.find(' '));
  if (!experiment.counts_services && !value.who().empty() && find_metric(Level::client, metric) == nullptr &&
      find_metric(Level::service, metric) != nullptr)
    field.fail(metric + " where no client is a service",
               "services: true, or a client with arrivals, an slo or a weight");
}

void check_swept(const SweptPath& swept) {
  const std::string first = first_of(swept.path());
  const std::vector<std::string> known{"workload", "clients", "device", "mechanism",
                                       "policies", "grant",   "place",  "seed"};
  if (std::find(known.begin(), known.end(), first) == known.end())
    throw InputError(swept.value(0).origin(), "sweep." + swept.path(), quote(first),
                     "a path that begins with " + expected_names(first, known));
}

// Whether it asks for what services are judged by.
bool is_service(const Client& client) {
  return client.repeat.arrivals || client.slo || client.weight != Client().weight;
}

Experiment interpret(const Node& root) {
  const Field top(root, "");
  Experiment experiment;
  Mapping settings = top.mapping();
  read_settings(settings, experiment);
  Sweep sweep;
  if (auto field = settings.maybe("sweep")) sweep = Sweep(*field);
  for (const SweptPath& swept : sweep.paths()) {
    check_swept(swept);
    if (swept.path() == "seed") experiment.seed.reset();
  }
  const auto services = settings.maybe("services");
  const auto published = settings.maybe("published");
  for (const char* key : {"device", "workload", "mechanism", "policies"}) settings.need(key);
  settings.maybe("clients");
  settings.maybe("grant");
  settings.maybe("place");
  experiment.points = Points(root, std::move(sweep), WorkloadCheck(experiment, root));
  settings.finish();
  experiment.points.each_checked([&](const Point& point) {
    for (const Client& client : point.workload->sample().clients)
      if (is_service(client)) experiment.counts_services = true;
    for (const Contender& policy : point.policies) {
      const Capabilities needs = needs_of(policy);
      if (needs.has(Capability::memory)) experiment.counts_slices = true;
      if (needs.has(Capability::evict) && point.device_of(policy).gpus > 1)
        experiment.counts_evictions_by_gpu = true;
      if (policy.granting.forms.value_or(TakeForms::none) != TakeForms::none) experiment.takes_forms = true;
    }
  });
  refuse_without_effect(experiment.points);
  if (services) experiment.counts_services = services->boolean();
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

// Of the policies that it plays and that are not part of this program.
std::string versions_of_policies(const Experiment& experiment) {
  const auto& all = Policies::all();
  if (std::none_of(all.begin(), all.end(), [](const PolicyEntry& entry) { return !entry.version.empty(); }))
    return "";
  std::map<std::string, std::string> versions;
  experiment.points.each_checked([&](const Point& point) {
    for (const Contender& policy : point.policies)
      if (!policy.entry->version.empty()) versions[policy.entry->name] = policy.entry->version;
  });
  std::string text;
  for (const auto& [name, version] : versions) text += name + " " + version + "\n";
  return text;
}

}  // namespace

Experiment read_experiment(Configuration configuration, const std::vector<Override>& overrides) {
  Node& root = configuration.root;
  resolve_references(root, overrides, configuration.folder);
  resolve_data_files(root, configuration.folder);
  Experiment experiment = interpret(root);
  refuse_swept(experiment.points.sweep(), overrides);
  experiment.configuration = root.json().dump();
  experiment.identity =
      identity_of(without_data_paths(root).json().dump() + versions_of_policies(experiment));
  return experiment;
}

Experiment read_experiment(const std::string& given, const std::vector<Override>& overrides) {
  return read_experiment(read_configuration(given), overrides);
}

std::string check_file(const std::string& file, const std::vector<Override>& overrides,
                       std::vector<std::string>* notes) {
  const auto refuse_overrides = [&](const std::string& kind) {
    if (!overrides.empty())
      throw InputError({overrides.front().option, 0}, "files", fmt::format("a {}: {}", kind, quote(file)),
                       "experiments and studies, whose values can be overridden");
  };
  if (recording::is_recording(file)) {
    refuse_overrides("recording");
    recording::read_recording(file);
    return "recording";
  }
  const Configuration configuration{read_yaml(file), fs::path(file).parent_path(), ""};
  const Node& root = configuration.root;
  Mapping m = Field(root, "").mapping();
  std::string kind =
      m.need("kind").one_of({"experiment", "workload", "device", "taskset", "study", "printed"});
  if (kind == "experiment") {
    const Experiment experiment = read_experiment(configuration, overrides);
    if (notes != nullptr) *notes = notes_without_effect(experiment);
    return kind;
  }
  if (kind == "study") {
    read_study(configuration, overrides);
    return kind;
  }
  refuse_overrides(kind == "printed" ? "list of what papers print" : kind);
  if (kind == "printed")
    check_printed(read_printed(Field(root, "")), configuration.folder);
  else if (kind == "workload")
    read_clients(Field(root, ""));
  else if (kind == "taskset")
    check_costs(read_task_set(Field(root, "")), root);
  else
    read_device(Field(root, ""));
  return kind;
}

}  // namespace gangway
