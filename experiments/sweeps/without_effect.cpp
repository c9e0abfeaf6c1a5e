#include "experiments/sweeps/without_effect.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace gangway {
namespace {

// Where a parameter was given first, and whether it has an effect anywhere.
struct Given {
  ParameterValues values;
  const Parameter* parameter;
  bool acts;
};

bool is_native(const Client& client) { return client.native; }
bool is_recorded(const Client& client) { return client.recorded != nullptr; }

// Whether blocks of their own length can run: those of native clients, as under such a policy all are.
bool has_native_blocks(const Point& point) {
  const auto all_native = [](const Contender& policy) { return needs_of(policy).has(Capability::native); };
  const auto& clients = point.workload->sample().clients;
  return std::any_of(clients.begin(), clients.end(), is_native) ||
         std::any_of(point.policies.begin(), point.policies.end(), all_native);
}

}  // namespace

void refuse_without_effect(const Points& points) {
  std::map<std::pair<std::string, std::string>, Given> found;  // by policy and parameter
  points.each_checked([&](const Point& point) {
    for (const Contender& policy : point.policies)
      for (const Parameter& parameter : policy.entry->parameters) {
        if (!(parameter.only || parameter.of_kernels) || !policy.values.is_given(parameter)) continue;
        const bool heeded = !parameter.of_kernels || policy.granting.of == GrantOf::kernel;
        const bool acts = heeded && policy.values.acts(parameter);
        const auto place =
            found.try_emplace({policy.label, parameter.name}, Given{policy.values, &parameter, acts}).first;
        place->second.acts = place->second.acts || acts;
      }
  });
  for (const auto& [place, given] : found)
    if (!given.acts) given.values.refuse_idle(*given.parameter);
}

std::vector<std::string> notes_without_effect(const Experiment& experiment) {
  bool jitter = false, acts = false;
  experiment.points.each_checked([&](const Point& point) {
    const Workload& workload = point.workload->sample();
    if (std::all_of(workload.clients.begin(), workload.clients.end(), is_recorded)) return;  // told of these
    jitter = jitter || workload.jitter.block_time > 0;
    acts = acts || has_native_blocks(point);
  });
  if (!jitter || acts) return {};
  return {"jitter of block_time has no effect, as no client is native"};
}

}  // namespace gangway
