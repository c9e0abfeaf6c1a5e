// Worst cases as experiments that `gangway run` plays.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/files.hpp"
#include "experiments/worst_case.hpp"

namespace gangway {
namespace {

std::string yaml_of(const Kernel& kernel) {
  std::string text =
      fmt::format("{{name: {}, block_tasks: {}, block: [{}], block_task_length: {} ns", kernel.name,
                  kernel.block_tasks.count, kernel.threads(), kernel.block_task_length->ns);
  if (!kernel.exceptions.empty()) {
    std::vector<std::string> shorter;
    for (const BlockException& e : kernel.exceptions)
      shorter.push_back(fmt::format("{{job: {}, block: {}, length: {} ns}}", e.job, e.block, e.length.ns));
    text += fmt::format(",\n         exceptions: [{}]", fmt::join(shorter, ", "));
  }
  return text + "}";
}

std::string yaml_of(const Client& client) {
  std::vector<std::string> releases;
  for (const Duration release : client.repeat.releases) releases.push_back(fmt::format("{} ns", release.ns));
  std::string text = fmt::format("    - name: {}\n", client.name);
  if (client.priority != 0) text += fmt::format("      priority: {}\n", client.priority);
  text += fmt::format("      repeat: {{releases: [{}]}}\n      kernels:\n", fmt::join(releases, ", "));
  for (const Kernel& kernel : client.kernels) text += fmt::format("      - {}\n", yaml_of(kernel));
  return text;
}

std::string yaml_of(const Device& device) {
  const std::string layout =
      device.pool
          ? fmt::format("layout: pool, m: {}", device.sm.threads)
          : fmt::format(
                "sms: {}, sm: {{threads: {}, blocks: {}, registers: 1, shared_memory: 0 B}},\n"
                "  placement: {}",
                device.sms, device.sm.threads, device.sm.blocks,
                device.placement == Placement::most_room_first ? "most-room-first" : "lowest-index-first");
  std::string text = fmt::format("device: {{kind: device, version: 1, name: {}, {},\n  queue_order: {}",
                                 device.name, layout, name_of(device.queue_order));
  if (device.channels) text += fmt::format(", channels: {}", *device.channels);
  if (device.priorities > 1) text += fmt::format(", priorities: {}", device.priorities);
  return text + "}\n";
}

std::string yaml_of(const TaskSet& set, const SearchedResponses& searched, const WorstCase& worst,
                    const std::string& task) {
  std::string text = fmt::format(
      "# The largest response of {} that was found: {} ns, of its job {}. {} of the task set is {} ns "
      "here.\n",
      task, worst.simulated.ns, worst.job, set.unit.empty() ? "A unit" : "1 " + set.unit,
      searched.scale.text());
  const std::string name = fmt::format("{}-{}", set.name, task);
  text += fmt::format("kind: experiment\nversion: 1\nname: {}\n", name.substr(0, 80));
  text +=
      fmt::format("workload:\n  kind: workload\n  version: 1\n  name: {}\n  clients:\n", name.substr(0, 80));
  for (const Client& client : worst.workload.clients) text += yaml_of(client);
  return text + yaml_of(worst.device) + "mechanism: ideal\npolicies: [passthrough]\n";
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
      write_file(folder / (names[i] + ".yaml"), yaml_of(set, searched, *worst, names[i]));
}

}  // namespace gangway
