// Worst cases as experiments that `gangway run` plays.
#include <fmt/format.h>

#include "experiments/results/files.hpp"
#include "experiments/studies/worst_case.hpp"
#include "models/input/yaml_writer.hpp"

namespace gangway {
namespace {

std::string ns_text(Duration d) { return fmt::format("{} ns", d.ns); }

Node node_of(const Kernel& kernel) {
  Node node = yaml_mapping({{"name", kernel.name}});
  node.put("block_tasks", yaml_text(kernel.block_tasks.count));
  node.put("block", yaml_list({yaml_text(kernel.threads())}));
  node.put("block_task_length", yaml_text(ns_text(*kernel.block_task_length)));
  if (kernel.exceptions.empty()) return node;
  std::vector<Node> shorter;
  for (const BlockException& e : kernel.exceptions) {
    Node& each = shorter.emplace_back(yaml_mapping({}));
    each.put("job", yaml_text(std::int64_t{e.job}));
    each.put("block", yaml_text(std::int64_t{e.block}));
    each.put("length", yaml_text(ns_text(e.length)));
  }
  node.put("exceptions", yaml_list(std::move(shorter)));
  return node;
}

Node node_of(const Client& client) {
  Node node = yaml_mapping({{"name", client.name}});
  if (client.priority != 0) node.put("priority", yaml_text(std::int64_t{client.priority}));
  std::vector<std::string> releases;
  for (const Duration release : client.repeat.releases) releases.push_back(ns_text(release));
  Node repeat = yaml_mapping({});
  repeat.put("releases", yaml_texts(releases));
  node.put("repeat", std::move(repeat));
  std::vector<Node> kernels;
  for (const Kernel& kernel : client.kernels) kernels.push_back(node_of(kernel));
  node.put("kernels", yaml_list(std::move(kernels)));
  return node;
}

Node node_of(const Device& device) {
  Node node = yaml_mapping({{"kind", "device"}, {"version", "1"}, {"name", device.name}});
  if (device.pool) {
    node.put("layout", yaml_text("pool"));
    node.put("m", yaml_text(device.sm.threads));
  } else {
    node.put("sms", yaml_text(device.sms));
    node.put("sm", yaml_mapping({{"threads", std::to_string(device.sm.threads)},
                                 {"blocks", std::to_string(device.sm.blocks)},
                                 {"registers", "1"},
                                 {"shared_memory", "0 B"}}));
    const bool most_room = device.placement == Placement::most_room_first;
    node.put("placement", yaml_text(most_room ? "most-room-first" : "lowest-index-first"));
  }
  node.put("queue_order", yaml_text(name_of(device.queue_order)));
  if (device.channels) node.put("channels", yaml_text(std::int64_t{*device.channels}));
  if (device.priorities > 1) node.put("priorities", yaml_text(std::int64_t{device.priorities}));
  return node;
}

std::string experiment_of(const TaskSet& set, const SearchedResponses& searched, const WorstCase& worst,
                          const std::string& task) {
  const std::string name = fmt::format("{}-{}", set.name, task).substr(0, 80);
  Node workload = yaml_mapping({{"kind", "workload"}, {"version", "1"}, {"name", name}});
  std::vector<Node> clients;
  for (const Client& client : worst.workload.clients) clients.push_back(node_of(client));
  workload.put("clients", yaml_list(std::move(clients)));
  Node root = yaml_mapping({{"kind", "experiment"}, {"version", "1"}, {"name", name}});
  root.put("workload", std::move(workload));
  root.put("device", node_of(worst.device));
  root.put("mechanism", yaml_text("ideal"));
  root.put("policies", yaml_texts({"passthrough"}));
  return to_yaml(root,
                 {{"", fmt::format("The largest response of {} that was found: {} ns, of its job {}. "
                                   "{} of the task set is {} ns here.",
                                   task, worst.simulated.ns, worst.job,
                                   set.unit.empty() ? "A unit" : "1 " + set.unit, searched.scale.text())}});
}

}  // namespace

void save_worst_cases(const TaskSet& set, const SearchedResponses& searched,
                      const std::filesystem::path& folder) {
  make_empty_folder(folder, "--save");
  std::vector<std::string> names;
  if (const auto* sporadic = std::get_if<SporadicTasks>(&set.tasks))
    for (const SporadicTask& task : sporadic->tasks) names.push_back(task.name);
  if (const auto* once = std::get_if<OneShotKernels>(&set.tasks))
    for (const OneShotStream& stream : once->streams)
      for (const OneShotKernel& kernel : stream.kernels) names.push_back(kernel.name);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto& worst = searched.tasks[i])
      write_file(folder / (names[i] + ".yaml"), experiment_of(set, searched, *worst, names[i]));
}

}  // namespace gangway
