#include "experiments/sweeps/foreign_evictions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace gangway {
namespace {

constexpr std::size_t kMostKernels = 3;  // that are named

std::string named_kernels(const std::vector<std::string>& kernels) {
  const std::size_t most = std::min(kernels.size(), kMostKernels);
  std::string text = fmt::format(
      "{}", fmt::join(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(most), ", "));
  if (kernels.size() > most) text += fmt::format(" and {} more", kernels.size() - most);
  return text;
}

}  // namespace

std::vector<std::string> notes_of_foreign_evictions(const Experiment& experiment) {
  // Kernels by the experiment's mechanism and the one that they were measured under.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> found;
  experiment.points.each_checked([&](const Point& point) {
    for (const Contender& policy : point.policies) {
      const MechanismEntry& mechanism = *policy.mechanism.entry;
      if (!needs_of(policy).has(Capability::evict) || mechanism.needs != PreemptionLevel::block_task)
        continue;
      const auto made = mechanism.make(policy.mechanism.values);
      const Device& device = point.device_of(policy);
      for (const Client& client : point.workload_of(policy).sample().clients)
        for (const Kernel& kernel : client.kernels) {
          if (!evictions_of_another(kernel, *made) || made->delays(kernel, device).ideal) continue;
          auto& kernels = found[{mechanism.name, kernel.measured->mechanism}];
          if (std::find(kernels.begin(), kernels.end(), kernel.name) == kernels.end())
            kernels.push_back(kernel.name);
        }
    }
  });
  std::vector<std::string> notes;
  for (const auto& [mechanisms, kernels] : found)
    notes.push_back(
        fmt::format("evictions of {} were measured under {}, which evicts in another way, so under {} the "
                    "simulator uses the rules of {}",
                    named_kernels(kernels), mechanisms.second, mechanisms.first, mechanisms.first));
  return notes;
}

}  // namespace gangway
