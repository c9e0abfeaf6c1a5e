#include "models/world.hpp"

#include <algorithm>

namespace gangway {
namespace {

// A grant of a whole job is an order to launch and an order to evict; where clients are programs, or
// recordings of them, their memory can be ordered too.
void check_grant(const WorldRequest& request, Capabilities needs, const WorldEntry& world) {
  const Granting& granting = request.setup.granting;
  if (granting.of == GrantOf::kernel) {
    const bool forms = granting.forms.value_or(TakeForms::none) != TakeForms::none;
    if (forms && !needs.has(Capability::ranges) && !needs.has(Capability::access))
      throw InputError(request.grant, request.grant_path + ".forms",
                       "forms with grants of kernels under " + request.label,
                       "of: job, or a policy that launches slices or controls access");
    return;
  }
  const Capabilities rest = needs.missing_from(world.programs || plays_recordings(request.setup.workload)
                                                   ? Capabilities{Capability::evict, Capability::memory}
                                                   : Capabilities{Capability::evict});
  if (rest.none()) return;
  throw InputError(request.grant, request.grant_path, "job",
                   "kernel, since " + request.label + " cannot be given whole jobs: it needs " + rest.text());
}

void check_clients(const WorldRequest& request, const WorldEntry& world) {
  const std::vector<Client>& clients = request.setup.workload.clients;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    const Client& client = clients[c];
    const auto refuse = [&](const std::string& found, const std::string& expected) {
      throw InputError(request.workload.of(c), "workload.clients." + client.name, found, expected);
    };
    if (world.programs) {
      if (!client.command) refuse("no command", "command: [PROGRAM, ARGUMENT...] in the world " + world.name);
    } else if (client.recorded) {
      if (!world.recordings) refuse("a recording in the world " + world.name, "the world sim");
    } else if (client.command) {
      refuse("a command without a recording in the world " + world.name,
             "also a recording, made by gangway record, or the world live");
    }
  }
}

}  // namespace

void check_capabilities(const WorldRequest& request, const WorldEntry& world) {
  const Origin origin{"--world " + world.name, 0};
  check_clients(request, world);
  const Capabilities needs = request.policy.needs();
  const Capabilities missing = needs.missing_from(world.capabilities);
  if (!missing.none())
    throw InputError(origin, "policies." + request.label, "a policy that needs " + missing.text(),
                     "a policy for this world, or another world");
  check_grant(request, needs, world);
  if (needs.has(Capability::native) || world.capabilities.has(Capability::mixed)) return;
  const auto& clients = request.setup.workload.clients;
  const auto native = std::find_if(clients.begin(), clients.end(), [](const Client& c) { return c.native; });
  if (native != clients.end())
    throw InputError(origin, "workload.clients." + native->name,
                     "a native client under the policy " + quote(request.label),
                     world.capabilities.has(Capability::native)
                         ? "the policy 'passthrough', under which all are native, or another world"
                         : "clients under the policy, or another world");
}

}  // namespace gangway
