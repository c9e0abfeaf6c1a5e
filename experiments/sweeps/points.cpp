#include "experiments/sweeps/points.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "experiments/running/playable.hpp"
#include "experiments/running/scaled_alone.hpp"
#include "experiments/sweeps/configuration.hpp"

namespace gangway {
namespace {

using Indices = std::vector<std::size_t>;  // of swept values

// The last few values that were made for a key.
template <typename Value>
class Latest {
 public:
  template <typename Make>
  std::shared_ptr<const Value> get(const Indices& key, Make make) {
    if (auto known = find(key)) return known;
    auto made = std::make_shared<const Value>(make());  // by several threads at once, where they need it
    const std::lock_guard lock(mutex_);
    values_.emplace_front(key, made);
    if (values_.size() > kMost) values_.pop_back();
    return made;
  }

 private:
  static constexpr std::size_t kMost = 8;

  std::shared_ptr<const Value> find(const Indices& key) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == key; });
    if (found == values_.end()) return nullptr;
    values_.splice(values_.begin(), values_, found);
    return found->second;
  }

  std::mutex mutex_;
  std::list<std::pair<Indices, std::shared_ptr<const Value>>> values_;
};

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

// Where this key of the device is given: in the policy's own device, or the experiment's.
Field field_of_device(const char* key, const Field& device, const Field& policy) {
  const std::string path = std::string("device.") + key;
  if (const Node* own = policy.node().find("device"))
    if (const Node* given = own->find(key)) return {*given, policy.path() + "." + path};
  if (const Node* given = device.node().find(key)) return {*given, path};
  return device;
}

// Whether the policy leaves all to the device, or controls access to it: then what grants are is not its
// business.
bool grants_nothing(const ChosenPolicy& chosen) {
  const Capabilities needs = chosen.entry->make(chosen.values)->needs();
  return needs.has(Capability::native) || needs.has(Capability::access);
}

Placing read_placing(const Field& field, const Point& point) {
  if (field.one_of({"fixed", "least-used"}) == "fixed") return Placing::fixed;
  if (const Workload& workload = point.workload->sample();
      !plays_recordings(workload) && !runs_programs_alone(workload))
    field.fail("least-used for clients with kernels",
               "programs or recordings of them, which stay on one GPU");
  return Placing::least_used;
}

}  // namespace

struct Points::Recent {
  Latest<ParsedWorkload> parsed;
  Latest<WorkloadSource> workloads;
};

// The parts of the experiment that a point is read from: as they are, or as the sweep changes them there.
struct Points::Sections {
  const Points& points;
  Indices indices;  // of swept values; none: as the file has them
  std::uint32_t point = 0;
  Node part;  // those that are changed, but for the workload, which may be large

  bool swept(const std::string& key) const {
    const auto& keys = points.swept_keys_;
    return !indices.empty() && std::find(keys.begin(), keys.end(), key) != keys.end();
  }

  const Node* find(const std::string& key) const {
    return swept(key) ? part.find(key) : points.root_.find(key);
  }

  Field need(const std::string& key) const {
    const Node* node = find(key);
    if (node == nullptr) Field(points.root_, "").mapping().need(key);  // says what is missing
    return {*node, key};
  }

  // What of the sweep decides these parts.
  Indices key_of(const std::vector<std::string>& keys) const {
    Indices key;
    for (std::size_t p = 0; p < indices.size(); ++p)
      if (std::find(keys.begin(), keys.end(), first_of(points.sweep_.paths()[p].path())) != keys.end())
        key.push_back(indices[p]);
    return key;
  }

  std::shared_ptr<const ParsedWorkload> parsed() const {
    return points.recent_->parsed.get(key_of({"workload"}), [&] {
      if (!swept("workload")) return ParsedWorkload(need("workload"));
      const Node changed_workload = changed(points.root_, points.sweep_, point, {"workload"});
      return ParsedWorkload(Field(*changed_workload.find("workload"), "workload"));
    });
  }

  WorkloadSource workload_on(const Device& device) const {
    WorkloadSource workload(*parsed(), device);
    if (const Node* clients = find("clients")) workload.choose(Field(*clients, "clients"));
    workload.know_recorded(measured_alone);
    return workload;
  }

  // A policy's `device` is laid over the experiment's.
  OwnDevice own_device(const Field& changes) const {
    if (!changes.is_mapping()) changes.fail("a mapping of differences from the experiment's device");
    Node node = need("device").node();
    lay_over(node, changes.node());
    Device device = read_device(Field(node, changes.path()));
    WorkloadSource workload = workload_on(device);
    return {std::move(device), std::move(workload)};
  }

  Contender contender(const Field& field, const Point& common) const {
    Node policy = field.node();
    Contender contender{{}, common.mechanism, common.granting, common.placing};
    contender.place = field.node().origin();
    const Node* of_all = find("grant");
    contender.grant = of_all != nullptr ? of_all->origin() : field.node().origin();
    contender.grant_path = "grant";
    const auto of_its_own = [&](const char* key) -> std::optional<Field> {
      const Node* given = field.node().find(key);
      if (given == nullptr) return std::nullopt;
      std::erase_if(policy.entries, [&](const Node::Entry& entry) { return entry.key == key; });
      return Field(*given, field.path() + "." + key);
    };
    if (auto mechanism = of_its_own("mechanism")) contender.mechanism = choose<MechanismEntry>(*mechanism);
    if (auto grant = of_its_own("grant")) {
      contender.granting = read_granting(*grant);
      contender.grant = grant->node().origin();
      contender.grant_path = grant->path();
    }
    const auto device = of_its_own("device");
    static_cast<ChosenPolicy&>(contender) = choose<PolicyEntry>(Field(policy, field.path()), true);
    if (contender.grant_path == "grant" && grants_nothing(contender)) contender.granting = {};
    if (device) contender.own = own_device(*device);
    return contender;
  }

  std::vector<Contender> policies(const Point& point_read) const {
    std::vector<Contender> policies;
    for (const Field& item : need("policies").items()) {
      policies.push_back(contender(item, point_read));
      for (std::size_t i = 0; i + 1 < policies.size(); ++i)
        if (policies[i].label == policies.back().label)
          item.fail(quote(policies.back().label) + " a second time", "a label for one of them");
      const Field gpus = field_of_device("gpus", need("device"), item);
      policies.back().gpus = gpus.node().origin();
      policies.back().gpus_path = gpus.path();
      const Field slices = field_of_device("time_slice", need("device"), item);
      policies.back().time_slice = slices.node().origin();
      policies.back().time_slice_path = slices.path();
    }
    // What only runs elsewhere is checked by the world that is asked to play it.
    const bool moves = moves_memory(policies);
    for (const Contender& each : policies)
      if (!only_elsewhere(each, point_read)) check_playable(simulation(), each, point_read, moves);
    std::sort(policies.begin(), policies.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
    return policies;
  }
};

Points::Points(Node root, Sweep sweep, Check check)
    : root_(std::move(root)),
      sweep_(std::move(sweep)),
      check_(std::move(check)),
      recent_(std::make_shared<Recent>()) {
  for (const SweptPath& swept : sweep_.paths()) swept_keys_.push_back(first_of(swept.path()));
  const Point unswept = read({*this, {}, 0, {}});
  groups_ = GroupCounts(sweep_, "policies", unswept.policies.size());
}

Point Points::read(const Sections& sections) const {
  Point point;
  if (const Node* seed = sections.find("seed")) point.seed = read_seed(Field(*seed, "seed"));
  point.device = read_device(sections.need("device"));
  point.workload = recent_->workloads.get(sections.key_of({"workload", "clients", "device"}),
                                          [&] { return sections.workload_on(point.device); });
  point.mechanism = choose<MechanismEntry>(sections.need("mechanism"));
  if (const Node* grant = sections.find("grant")) point.granting = read_granting(Field(*grant, "grant"));
  if (const Node* place = sections.find("place")) point.placing = read_placing(Field(*place, "place"), point);
  point.policies = sections.policies(point);
  return point;
}

Point Points::operator[](std::uint32_t point) const {
  Sections sections{*this, sweep_.at(point), point, {}};
  std::vector<std::string> small = swept_keys_;
  std::erase(small, "workload");
  if (!small.empty()) sections.part = changed(root_, sweep_, point, small);
  Point read_point = read(sections);
  read_point.values = sweep_.values(point);
  if (check_) check_(read_point);
  return read_point;
}

std::vector<std::string> Points::labels_at(std::uint32_t point) const {
  const bool swept = std::find(swept_keys_.begin(), swept_keys_.end(), "policies") != swept_keys_.end();
  const Node part = swept ? changed(root_, sweep_, point, {"policies"}) : Node{};
  std::vector<std::string> labels;
  for (const Node& policy : (swept ? part : root_).find("policies")->items) {
    const Node* label = policy.find("label") != nullptr ? policy.find("label") : policy.find("name");
    labels.push_back(label != nullptr ? label->scalar : policy.scalar);
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

void Points::each_checked(const Check& visit) const {
  for (const std::uint32_t point : sweep_.checked()) visit((*this)[point]);
}

Capabilities needs_of(const Contender& contender) { return contender.entry->make(contender.values)->needs(); }

}  // namespace gangway
