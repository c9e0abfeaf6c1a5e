#include "experiments/studies/study.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gangway {
namespace {

constexpr std::int64_t kMostSets = 1'000'000;

template <typename Generator>
std::shared_ptr<const Generator> read_generator(const Field& field,
                                                const std::vector<Parameter>& parameters) {
  Mapping m = field.mapping();
  const UtilisationMethod& method = UtilisationMethods::get(m.need("name"));
  const ParameterValues values(parameters, m.maybe("params"));
  m.finish();
  try {
    return std::make_shared<const Generator>(method, values);
  } catch (const std::invalid_argument& wrong) {
    field.fail(wrong.what(), "a consistent combination of parameters");
  }
}

StudyPoint read_point(Mapping& m) {
  StudyPoint point;
  if (const auto seed = m.maybe("seed")) point.seed = read_seed(*seed);
  const auto generator = m.maybe("generator"), owners = m.maybe("owners"), given = m.maybe("task_sets");
  const int sources = (generator ? 1 : 0) + (owners ? 1 : 0) + (given ? 1 : 0);
  if (sources != 1)
    m.self().fail(
        sources == 0 ? "neither generator nor owners nor task_sets" : "several sources of task sets",
        "one of generator, owners and task_sets");
  if (!given) {
    if (generator) point.generator = read_generator<TaskSetGenerator>(*generator, task_set_parameters());
    if (owners) point.owners = read_generator<OwnerSetGenerator>(*owners, owner_set_parameters());
    point.sets = static_cast<std::uint64_t>(m.need("sets").integer(1, kMostSets));
  } else {
    for (const Field& set : given->items()) point.given.push_back(read_task_set(set));
    point.sets = point.given.size();
    for (const TaskSet& set : point.given)  // bounds are compared over sets
      if (set.tasks.index() != point.given.front().tasks.index())
        given->fail("sets of different forms, such as " + quote(set.name), "sets of one form");
  }
  if (const auto orders = m.maybe("orders"))
    for (const Field& order : orders->items()) {
      point.orders.push_back(queue_order_from(order.one_of(queue_order_names())));
      for (std::size_t i = 0; i + 1 < point.orders.size(); ++i)
        if (point.orders[i] == point.orders.back()) order.fail("another order");
    }
  if (!point.orders.empty() && owners) owners->fail("orders for kernels that own the GPU", "no orders");
  if (!point.orders.empty())
    for (const TaskSet& set : point.given)
      if (!std::holds_alternative<SporadicTasks>(set.tasks))
        m.self().fail("orders for the set " + quote(set.name), "orders for sporadic sets only");
  return point;
}

void read_settings(Mapping& m, Study& study) {
  read_header(m, "study");
  study.name = m.need("name").identifier();
  if (auto title = m.maybe("title")) study.title = title->text();
  if (auto seed = m.maybe("seed")) study.seed = read_seed(*seed);
  if (auto tasks = m.maybe("tasks")) study.write_tasks = tasks->boolean();
  if (auto simulate = m.maybe("simulate")) {
    Mapping how = simulate->mapping();
    study.simulated_jobs = static_cast<std::uint64_t>(how.need("jobs").integer(1, 1'000'000));
    how.finish();
  }
  if (auto search = m.maybe("search")) {
    Mapping how = search->mapping();
    study.search_steps = static_cast<std::uint64_t>(how.need("steps").integer(1, 1'000'000'000));
    how.finish();
  }
}

// What is asked of the sets, before any is drawn or played.
void check_sets(const Node& root, const Study& study, const StudyPoint& point) {
  const auto refuse = [&](const char* key, const std::string& found, const char* expected) {
    throw InputError(root.find(key)->origin(), key, found, expected);
  };
  for (const TaskSet& set : point.given) {
    if (study.simulated_jobs && !is_periodic(set))
      refuse("simulate", "kernels without a period in the set " + quote(set.name),
             "tasks that are released again");
    if (study.search_steps && std::holds_alternative<OwningTasks>(set.tasks))
      refuse("search", "kernels that own the GPU in the set " + quote(set.name), "kernels that share it");
  }
  if (study.search_steps && point.owners)
    refuse("search", "kernels that own the GPU", "kernels that share it");
}

void check_swept_of_study(const SweptPath& swept) {
  const std::string first = first_of(swept.path());
  if (first != "generator" && first != "owners" && first != "orders" && first != "seed")
    throw InputError(swept.value(0).origin(), "sweep." + swept.path(), quote(first),
                     "a path that begins with generator, owners, orders or seed");
}

// Task sets by name of a file, as seen from the study's folder.
void resolve_sets(Node& root, const std::filesystem::path& folder) {
  Node* sets = root.find("task_sets");
  if (sets == nullptr || sets->kind != Node::Kind::sequence) return;
  for (Node& item : sets->items)
    if (item.kind == Node::Kind::scalar) {
      const std::filesystem::path path = folder / item.scalar;
      if (!std::filesystem::exists(path))
        throw InputError(item.origin(), "task_sets", quote(path.string()) + ", which does not exist",
                         "a task set file");
      item = read_yaml(path.string());
    }
}

}  // namespace

TaskSet StudyPoint::set(std::uint64_t number, std::size_t order) const {
  TaskSet set = generator ? generator->draw(seed, number)
                : owners  ? owners->draw(seed, number)
                          : given[number];
  if (!orders.empty()) std::get<SporadicTasks>(set.tasks).order = orders[order];
  return set;
}

std::string StudyPoint::order_of(std::size_t order) const {
  return orders.empty() ? std::string() : name_of(orders[order]);
}

Study read_study(Configuration configuration, const std::vector<Override>& overrides) {
  Node& root = configuration.root;
  for (const Override& change : overrides) apply(root, change);
  resolve_sets(root, configuration.folder);
  Study study;
  Mapping settings = Field(root, "").mapping();
  read_settings(settings, study);
  if (auto field = settings.maybe("sweep")) study.sweep = Sweep(*field);
  for (const SweptPath& swept : study.sweep.paths()) {
    check_swept_of_study(swept);
    if (swept.path() == "seed") study.seed.reset();
  }
  refuse_swept(study.sweep, overrides);
  const StudyPoint unswept = read_point(settings);  // the unswept file must be right by itself
  settings.finish();
  check_sets(root, study, unswept);
  study.sets = unswept.sets;
  study.groups = GroupCounts(study.sweep, "orders", unswept.order_count());
  study.configuration = root.json().dump();
  study.identity = identity_of(study.configuration);
  study.root = std::move(root);
  for (const std::uint32_t point : study.sweep.checked()) study.point(point);
  return study;
}

StudyPoint Study::point(std::uint32_t index) const {
  Node part = changed(root, sweep, index, {"generator", "owners", "orders", "task_sets", "sets", "seed"});
  Mapping m = Field(part, "").mapping();
  return read_point(m);
}

}  // namespace gangway
