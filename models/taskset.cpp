#include "models/taskset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "models/input/yaml_writer.hpp"
#include "models/registry.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMostThreads = 1 << 20;  // of a pool or a multiprocessor
constexpr std::int64_t kMostMultiprocessors = 100'000;
constexpr std::int64_t kMostChannels = 1024;
constexpr std::int64_t kMostBlocks = 1'000'000'000;
constexpr std::int64_t kLargestBlock = 1024;
constexpr std::size_t kMostTasks = 1000;

struct TimeUnit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<TimeUnit, 4> kUnits{{{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

const TimeUnit* find_unit(std::string_view name) {
  const auto* unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const TimeUnit& u) { return u.name == name; });
  return unit == kUnits.end() ? nullptr : unit;
}

// The number at the front of `text`, and the unit that is all the rest of it: none if there is no number, or
// if the rest is no unit. No unit: a plain number.
struct WrittenTime {
  Rational value;
  const TimeUnit* unit = nullptr;
};

std::optional<WrittenTime> read_time(std::string_view text) {
  const auto value = take_rational(text);
  while (text.starts_with(' ')) text.remove_prefix(1);
  const TimeUnit* unit = find_unit(text);
  if (!value || (!text.empty() && unit == nullptr)) return std::nullopt;
  return WrittenTime{*value, unit};
}

Rational converted(const WrittenTime& time, const TimeUnit* unit) {
  return time.unit == nullptr ? time.value : time.value * Rational(time.unit->ns, unit->ns);
}

// How many values of a file's keys are times with a unit, and how many plain numbers are values of the same
// keys.
class WrittenUnits {
 public:
  explicit WrittenUnits(const Node& root) { count(root, ""); }
  bool mostly() const {
    std::size_t with = 0, without = 0;
    for (const auto& [key, counts] : by_key_) {
      if (counts.first == 0) continue;
      with += counts.first;
      without += counts.second;
    }
    return with > without;
  }

 private:
  void count(const Node& node, const std::string& key) {
    for (const Node& item : node.items) count(item, key);
    for (const Node::Entry& entry : node.entries) count(entry.value, entry.key);
    if (node.kind != Node::Kind::scalar) return;
    if (const auto time = read_time(node.scalar)) ++(time->unit ? by_key_[key].first : by_key_[key].second);
  }

  std::map<std::string, std::pair<std::size_t, std::size_t>> by_key_;  // with a unit, without
};

// Reads the times of one file, which agree on having units or none.
class TimeReader {
 public:
  explicit TimeReader(const Node& root) : root_(&root) {}
  // At least 10^-15.
  Rational positive(const Field& field) {
    return read(field, Rational(1, 1'000'000'000'000'000), "above 0 and at most 10^15, in at most 18 digits");
  }
  Rational any(const Field& field) { return read(field, 0, "from 0 to 10^15, in at most 18 digits"); }
  std::string unit() const { return unit_ == nullptr ? std::string() : std::string(unit_->name); }

 private:
  Rational read(const Field& field, const Rational& least, const char* range) {
    const std::string form = fmt::format("{} {}", expected(), range);
    if (!field.is_scalar()) field.fail(form);
    const auto time = read_time(field.node().scalar);
    if (!time) field.fail(form);
    agree(field, time->unit);
    Rational scaled = converted(*time, unit_);
    if (scaled < least || scaled > Rational(1'000'000'000'000'000)) field.fail(form);
    return scaled;
  }

  std::string expected() const {
    if (!seen_) return "a plain number (12, 0.1, 1/3) or a time with a unit (3.8 ms)";
    return unit_ == nullptr ? "a plain number (12, 0.1, 1/3)" : "a time with a unit (3.8 ms, 1/3 us)";
  }

  // The one that is not as most are is wrong.
  void agree(const Field& field, const TimeUnit* unit) {
    if (!seen_) {
      seen_ = true;
      unit_ = unit;
      first_.emplace(field);
    } else if ((unit == nullptr) != (unit_ == nullptr)) {
      const bool units = WrittenUnits(*root_).mostly();
      const bool this_one = (unit != nullptr) != units;
      const Field &wrong = this_one ? field : *first_, &right = this_one ? *first_ : field;
      wrong.fail(fmt::format("{}, as for {}", units ? "a time with a unit" : "a plain number without a unit",
                             right.path()));
    }
  }

  const Node* root_;
  bool seen_ = false;
  const TimeUnit* unit_ = nullptr;  // none: plain numbers
  std::optional<Field> first_;      // where that was decided
};

ThreadLayout read_layout(Mapping& m) {
  ThreadLayout layout;
  if (m.need("layout").one_of({"pool", "sm"}) == "pool") {
    layout.threads = m.need("m").integer(1, kMostThreads);
  } else {
    layout.kind = ThreadLayout::Kind::sm;
    layout.sms = m.need("sms").integer(1, kMostMultiprocessors);
    layout.threads = m.need("threads").integer(1, kMostThreads);
  }
  return layout;
}

struct SharedDevice {
  ThreadLayout layout;
  std::int64_t channels = 32;
};

SharedDevice read_device_of(const Field& field) {
  Mapping m = field.mapping();
  SharedDevice device;
  device.layout = read_layout(m);
  if (auto channels = m.maybe("channels")) device.channels = channels->integer(1, kMostChannels);
  m.finish();
  return device;
}

Grid read_grid(Mapping& m, const ThreadLayout& layout, TimeReader& times) {
  Grid grid;
  grid.work = times.positive(m.need("C"));
  grid.blocks = m.need("g").integer(1, kMostBlocks);
  const Field threads = m.need("b");
  grid.threads = threads.integer(1, kLargestBlock);
  if (grid.threads > layout.threads)
    threads.fail(fmt::format("at most the {} threads of {}", layout.threads,
                             layout.kind == ThreadLayout::Kind::pool ? "the device" : "an SM"));
  return grid;
}

template <typename Item>
void name_once(const std::vector<Item>& items, const std::string& name, const Field& field) {
  for (const Item& item : items)
    if (item.name == name) field.fail(quote(name) + " a second time", "each name once");
}

std::vector<Field> some_items(const Field& field) {
  auto items = field.items();
  if (items.size() > kMostTasks)
    field.fail(fmt::format("{} items", items.size()), fmt::format("at most {}", kMostTasks));
  return items;
}

template <typename Costs>
struct CostKey {
  const char* key;
  Rational Costs::*cost;
};
constexpr std::array<CostKey<QueueCosts>, 7> kQueueCosts{{{"lateness", &QueueCosts::lateness},
                                                          {"issue", &QueueCosts::issue},
                                                          {"stream", &QueueCosts::stream},
                                                          {"refill", &QueueCosts::refill},
                                                          {"change", &QueueCosts::change},
                                                          {"clock", &QueueCosts::clock},
                                                          {"block", &QueueCosts::block}}};
constexpr std::array<CostKey<OwnerCosts>, 6> kOwnerCosts{{{"lateness", &OwnerCosts::lateness},
                                                          {"launch", &OwnerCosts::launch},
                                                          {"resume", &OwnerCosts::resume},
                                                          {"eviction", &OwnerCosts::eviction},
                                                          {"ending", &OwnerCosts::ending},
                                                          {"block", &OwnerCosts::block}}};

template <typename Costs, std::size_t kCount>
std::optional<Costs> read_costs(Mapping& m, const std::array<CostKey<Costs>, kCount>& keys,
                                TimeReader& times) {
  const auto field = m.maybe("costs");
  if (!field) return std::nullopt;
  Mapping given = field->mapping();
  Costs costs;
  for (const auto& key : keys)
    if (const auto cost = given.maybe(key.key)) costs.*key.cost = times.any(*cost);
  given.finish();
  return costs;
}

void read_code(const Field& field, OwningTask& task) {
  const auto chosen = choose<KernelEntry>(field);
  task.code_text = fmt::format("{{name: {}, params: {}}}", chosen.entry->name, chosen.values.text());
  try {
    task.code = chosen.entry->make(chosen.values);
  } catch (const std::invalid_argument& wrong) {
    field.fail(wrong.what(), "a consistent combination of parameters");
  }
}

SporadicTasks read_sporadic(Mapping& m, TimeReader& times) {
  SporadicTasks set;
  const SharedDevice device = read_device_of(m.need("device"));
  set.layout = device.layout;
  set.channels = device.channels;
  if (auto order = m.maybe("order")) set.order = queue_order_from(order->one_of(queue_order_names()));
  if (auto priorities = m.maybe("priorities")) set.priorities = priorities->boolean();
  set.costs = read_costs(m, kQueueCosts, times);
  for (const Field& item : some_items(m.need("tasks"))) {
    Mapping t = item.mapping();
    SporadicTask task;
    const Field name = t.need("name");
    task.name = name.identifier();
    name_once(set.tasks, task.name, name);
    task.grid = read_grid(t, set.layout, times);
    task.period = times.positive(t.need("T"));
    if (auto priority = t.maybe("priority")) {
      if (!set.priorities) priority->fail("a priority", "priorities: true, or no priority");
      task.priority = static_cast<std::int32_t>(priority->integer(-1'000'000, 1'000'000));
    }
    t.finish();
    set.tasks.push_back(std::move(task));
  }
  return set;
}

OneShotStream read_stream(const Field& item, OneShotKernels& set, TimeReader& times) {
  Mapping s = item.mapping();
  OneShotStream stream;
  const Field name = s.need("name");
  stream.name = name.identifier();
  name_once(set.streams, stream.name, name);
  for (const Field& entry : some_items(s.need("kernels"))) {
    Mapping k = entry.mapping();
    OneShotKernel kernel;
    const Field kernel_name = k.need("name");
    kernel.name = kernel_name.identifier();
    for (const OneShotStream& other : set.streams) name_once(other.kernels, kernel.name, kernel_name);
    name_once(stream.kernels, kernel.name, kernel_name);
    kernel.grid = read_grid(k, set.layout, times);
    if (auto at = k.maybe("at")) {
      if (!set.listed || !stream.kernels.empty())
        at->fail("a time for the first kernel of a stream, with submitted: listed");
      kernel.at = times.any(*at);
    }
    if (stream.kernels.empty() && !set.streams.empty() && kernel.at < set.streams.back().kernels.front().at)
      entry.fail("an earlier kernel", "streams in the order of their first kernels' submission");
    k.finish();
    stream.kernels.push_back(std::move(kernel));
  }
  s.finish();
  return stream;
}

OneShotKernels read_one_shot(Mapping& m, TimeReader& times) {
  OneShotKernels set;
  const SharedDevice device = read_device_of(m.need("device"));
  set.layout = device.layout;
  set.channels = device.channels;
  if (auto submitted = m.maybe("submitted"))
    set.listed = submitted->one_of({"any-order", "listed"}) == "listed";
  std::size_t kernels = 0;
  const Field streams = m.need("streams");
  for (const Field& item : some_items(streams)) {
    set.streams.push_back(read_stream(item, set, times));
    kernels += set.streams.back().kernels.size();
  }
  if (kernels > kMostTasks)
    streams.fail(fmt::format("{} kernels", kernels), fmt::format("at most {}", kMostTasks));
  return set;
}

OwningTasks read_owning(Mapping& m, TimeReader& times) {
  OwningTasks set;
  const bool priorities = m.need("scheduler").one_of({"fixed-priority", "round-robin"}) == "fixed-priority";
  if (!priorities) set.quantum = times.positive(m.need("quantum"));
  set.costs = read_costs(m, kOwnerCosts, times);
  for (const Field& item : some_items(m.need("tasks"))) {
    Mapping t = item.mapping();
    OwningTask task;
    const Field name = t.need("name");
    task.name = name.identifier();
    name_once(set.tasks, task.name, name);
    task.run = times.positive(t.need("c"));
    task.eviction = times.any(t.need("e"));
    task.launch = times.any(t.need("l"));
    if (priorities || t.maybe("T")) {
      task.period = times.positive(t.need("T"));
      if (auto jitter = t.maybe("J")) task.jitter = times.any(*jitter);
    }
    if (auto code = t.maybe("code")) read_code(*code, task);
    t.finish();
    set.tasks.push_back(std::move(task));
  }
  return set;
}

}  // namespace

TaskSet read_task_set(const Field& field) {
  Mapping m = field.mapping();
  read_header(m, "taskset");
  TaskSet set;
  set.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) set.source = source->text();
  const Node* const tasks = field.node().find("tasks");
  set.place = (tasks != nullptr ? *tasks : field.node()).origin();
  TimeReader times(field.node());
  if (field.node().find("scheduler") != nullptr)
    set.tasks = read_owning(m, times);
  else if (field.node().find("streams") != nullptr)
    set.tasks = read_one_shot(m, times);
  else
    set.tasks = read_sporadic(m, times);
  m.finish();
  set.unit = times.unit();
  return set;
}

namespace {

// A set as the mapping that read_task_set() reads.
class Written {
 public:
  explicit Written(const TaskSet& set) : unit_(set.unit.empty() ? "" : " " + set.unit) {
    root_ = yaml_mapping({{"kind", "taskset"}, {"version", "1"}, {"name", set.name}});
    if (!set.source.empty()) root_.put("source", yaml_text(set.source));
    std::visit([this](const auto& tasks) { write(tasks); }, set.tasks);
  }
  Node take() { return std::move(root_); }

 private:
  std::string time(const Rational& t) const { return t.text() + unit_; }

  void device(const ThreadLayout& layout, std::int64_t channels) {
    const bool pool = layout.kind == ThreadLayout::Kind::pool;
    Node device = yaml_mapping({{"layout", pool ? "pool" : "sm"}});
    if (!pool) device.put("sms", yaml_text(layout.sms));
    device.put(pool ? "m" : "threads", yaml_text(layout.threads));
    device.put("channels", yaml_text(channels));
    root_.put("device", std::move(device));
  }

  template <typename Costs, std::size_t kCount>
  void costs(const std::optional<Costs>& given, const std::array<CostKey<Costs>, kCount>& keys) {
    if (!given) return;
    Node costs = yaml_mapping({});
    for (const auto& key : keys) costs.put(key.key, yaml_text(time((*given).*key.cost)));
    root_.put("costs", std::move(costs));
  }

  Node task(const std::string& name, const Grid& grid) const {
    return yaml_mapping({{"name", name},
                         {"C", time(grid.work)},
                         {"g", std::to_string(grid.blocks)},
                         {"b", std::to_string(grid.threads)}});
  }

  void write(const SporadicTasks& set) {
    device(set.layout, set.channels);
    root_.put("order", yaml_text(name_of(set.order)));
    if (set.priorities) root_.put("priorities", yaml_text("true"));
    costs(set.costs, kQueueCosts);
    std::vector<Node> tasks;
    for (const SporadicTask& each : set.tasks) {
      Node& written = tasks.emplace_back(task(each.name, each.grid));
      written.put("T", yaml_text(time(each.period)));
      if (each.priority) written.put("priority", yaml_text(std::int64_t{*each.priority}));
    }
    root_.put("tasks", yaml_list(std::move(tasks)));
  }

  void write(const OneShotKernels& set) {
    device(set.layout, set.channels);
    root_.put("submitted", yaml_text(set.listed ? "listed" : "any-order"));
    std::vector<Node> streams;
    for (const OneShotStream& stream : set.streams) {
      std::vector<Node> kernels;
      for (const OneShotKernel& kernel : stream.kernels) {
        Node& written = kernels.emplace_back(task(kernel.name, kernel.grid));
        if (set.listed && kernels.size() == 1) written.put("at", yaml_text(time(kernel.at)));
      }
      streams.push_back(yaml_mapping({{"name", stream.name}}));
      streams.back().put("kernels", yaml_list(std::move(kernels)));
    }
    root_.put("streams", yaml_list(std::move(streams)));
  }

  void write(const OwningTasks& set) {
    root_.put("scheduler", yaml_text(set.quantum ? "round-robin" : "fixed-priority"));
    if (set.quantum) root_.put("quantum", yaml_text(time(*set.quantum)));
    costs(set.costs, kOwnerCosts);
    std::vector<Node> tasks;
    for (const OwningTask& each : set.tasks) {
      Node& written = tasks.emplace_back(yaml_mapping({{"name", each.name},
                                                       {"c", time(each.run)},
                                                       {"e", time(each.eviction)},
                                                       {"l", time(each.launch)}}));
      if (each.period) {
        written.put("J", yaml_text(time(each.jitter)));
        written.put("T", yaml_text(time(*each.period)));
      }
      if (each.code) written.put("code", parse_yaml(each.code_text, "code"));
    }
    root_.put("tasks", yaml_list(std::move(tasks)));
  }

  std::string unit_;
  Node root_;
};

}  // namespace

std::optional<Rational> time_in_unit_of(const TaskSet& set, std::string_view text) {
  const auto time = read_time(text);
  const TimeUnit* unit = find_unit(set.unit);
  if (!time || (time->unit != nullptr && unit == nullptr)) return std::nullopt;
  return converted(*time, unit);
}

std::string to_yaml(const TaskSet& set) { return to_yaml(Written(set).take()); }

bool is_periodic(const TaskSet& set) {
  if (const auto* owners = std::get_if<OwningTasks>(&set.tasks))
    return std::all_of(owners->tasks.begin(), owners->tasks.end(),
                       [](const OwningTask& task) { return task.period.has_value(); });
  return std::holds_alternative<SporadicTasks>(set.tasks);
}

}  // namespace gangway
