#include "experiments/sweeps/without_effect.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/recorded.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

using namespace literals;

// Where a parameter was given first, and whether it has an effect anywhere.
struct Given {
  ParameterValues values;
  const Parameter* parameter;
  bool acts;
};

bool is_native(const Client& client) { return client.native; }
bool is_recorded(const Client& client) { return client.recorded != nullptr; }
bool is_program(const Client& client) { return is_recorded(client) || client.command != nullptr; }

// What clients submit to under some policy of a point, besides that policy.
struct Queues {
  explicit Queues(const Point& point) {
    for (const Contender& policy : point.policies) {
      const Capabilities needs = needs_of(policy);
      traps = traps || needs.has(Capability::access);
      if (uses_channels(needs, point.device_of(policy)))
        channels = true;
      else
        native = native || needs.has(Capability::native);
    }
  }

  bool traps = false;     // channels, with a policy that may trap submissions
  bool channels = false;  // channels of their own
  bool native = false;    // the device's queues, all of them
};

// What is given, by the reason for which it would have no effect. What acts at any point is not noted.
class Notes {
 public:
  void given(const std::string& what, const std::string& of, const std::string& why, bool acts) {
    if (acts)
      acting_.insert({what, of});
    else
      found_[{what, why}].insert(of);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const auto& [what, clients] : found_) {
      std::string names;
      bool any = false;
      for (const std::string& name : clients) {
        if (acting_.contains({what.first, name})) continue;
        any = true;
        if (!name.empty()) names += (names.empty() ? " of " : ", ") + name;
      }
      if (any) lines.push_back(what.first + names + " has no effect, as " + what.second);
    }
    return lines;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::string>> found_;  // by what and why: whose
  std::set<std::pair<std::string, std::string>> acting_;  // what acts somewhere, and whose
};

void note_jitter(const WorkloadSource& source, const Queues& queues, Notes& notes) {
  const Workload& workload = source.sample();
  const auto& clients = workload.clients;
  const auto waits = [](const Client& client) {
    return std::any_of(client.kernels.begin(), client.kernels.end(),
                       [](const Kernel& kernel) { return kernel.gap > Duration{}; });
  };
  if (workload.jitter.block_time > 0)
    notes.given("jitter of block_time", "", "no client is native",
                queues.native || std::any_of(clients.begin(), clients.end(), is_native));
  if (workload.jitter.gap > 0 && !source.leaves_out())  // else it may be for those
    notes.given("jitter of gap", "", "no kernel has one", std::any_of(clients.begin(), clients.end(), waits));
}

void note_grants(const Point& point, Notes& notes) {
  const auto& clients = point.workload->sample().clients;
  const bool programs = std::any_of(clients.begin(), clients.end(), is_program);
  for (const Contender& policy : point.policies) {
    const Granting& grant = policy.granting;
    for (const auto& [key, given] : {std::pair{"in_flight", grant.in_flight > 0},
                                     {"overlap", grant.overlap},
                                     {"forms", grant.forms.value_or(TakeForms::none) != TakeForms::none}})
      if (given) notes.given(std::string("key grant.") + key, "", "no client is a program", programs);
  }
}

bool same_priority(const std::vector<Client>& clients) {
  const std::int32_t first = clients.front().priority;
  return std::all_of(clients.begin(), clients.end(), [&](const Client& client) {
    return client.priority == first && !client.priority_to &&
           std::all_of(client.kernels.begin(), client.kernels.end(),
                       [&](const Kernel& kernel) { return kernel.priority.value_or(first) == first; });
  });
}

// What policies order clients by, where it is the same for all.
void note_orders(const Point& point, Notes& notes) {
  for (const Contender& policy : point.policies) {
    const auto& clients = point.workload_of(policy).sample().clients;
    if (clients.size() < 2) continue;
    if (policy.entry->name == "piv")
      notes.given("the order of piv by priority", "", "all clients have the same", !same_priority(clients));
    if (policy.entry->name == "edf")
      notes.given("the order of edf by deadline", "", "no client has an slo",
                  std::any_of(clients.begin(), clients.end(), [](const Client& c) { return c.slo; }));
  }
}

bool is_of(const SweptPath& swept, const std::string& key) {
  return swept.path() == key || swept.path().starts_with(key + ".");
}

// Recorded programs' kernels leave only in the forms of their recordings, but slices cost what a mechanism of
// slices says.
bool costs_slices(const Contender& policy) {
  return policy.mechanism.entry->needs == PreemptionLevel::slice && needs_of(policy).has(Capability::ranges);
}

void note_mechanisms(const Sweep& sweep, const Point& point, Notes& notes) {
  for (const SweptPath& swept : sweep.paths())
    if (is_of(swept, "mechanism")) return;  // each_swept() says it
  for (const Contender& policy : point.policies)
    if (const std::string& name = policy.mechanism.entry->name; name != "ideal")
      notes.given("mechanism " + name, "", "all clients are recorded programs", costs_slices(policy));
}

void note_client(const Client& client, const Queues& queues, Notes& notes) {
  const auto some = [&](const auto& has) {
    return std::any_of(client.kernels.begin(), client.kernels.end(), has);
  };
  const auto note = [&](bool given, const std::string& key, const char* why, bool acts) {
    if (given) notes.given("key " + key, client.name, why, acts);
  };
  constexpr const char* kChannels = "clients submit to channels under no policy here";
  note(!client.blocking, "blocking", kChannels, queues.channels);
  note(client.channels > 1, "channels", kChannels, queues.channels);
  constexpr const char* kTraps = "no policy here traps submissions";
  note(client.trivial_requests > 0, "trivial_requests", kTraps, queues.traps);
  note(some([](const Kernel& k) { return k.trapped_time; }), "trapped_time", kTraps, queues.traps);
  note(some([](const Kernel& k) { return k.trapped_gap; }), "trapped_gap", kTraps, queues.traps);
  constexpr const char* kNative = "it acts only for native clients";
  const bool native = client.native || queues.native;
  note(some([](const Kernel& k) { return !k.exceptions.empty(); }), "exceptions", kNative, native);
  note(!client.context.empty(), "context", kNative, native);
  note(!client.stream.empty(), "stream", kNative, native);
}

// Whether is(mechanism, kernel, device) holds for some kernel under some policy.
template <typename Is>
bool any_kernel(const Point& point, const Is& is) {
  return std::any_of(point.policies.begin(), point.policies.end(), [&](const Contender& policy) {
    const Device& device = point.device_of(policy);
    const auto mechanism = policy.mechanism.entry->make(policy.mechanism.values);
    const auto& clients = point.workload_of(policy).sample().clients;
    return std::any_of(clients.begin(), clients.end(), [&](const Client& client) {
      return std::any_of(client.kernels.begin(), client.kernels.end(),
                         [&](const Kernel& kernel) { return is(*mechanism, kernel, device); });
    });
  });
}

// Whether some policy's mechanism asks what reading a flag costs.
bool polls(const Point& point) {
  return any_kernel(point, [](const Mechanism& mechanism, const Kernel& kernel, Device device) {
    device.polls.reset();
    return mechanism.refusal(kernel, device).has_value();
  });
}

// Whether some kernel's time or eviction is another one after a change of what reading a flag costs.
bool heeds(const Point& point, const std::function<void(PollCosts&)>& change) {
  return any_kernel(point, [&](const Mechanism& mechanism, const Kernel& kernel, Device device) {
    if (!device.polls) return false;
    const auto costs = [&] {
      const CommandDelays delays = mechanism.delays(kernel, device);
      return std::array{mechanism.running_time(kernel, device), delays.seen, delays.drain};
    };
    const auto before = costs();
    change(*device.polls);
    return costs() != before;
  });
}

// For each swept path: each(is, note), where is(key) tells whether the path is this key or below it, and
// note(key, why, acts) notes it then.
template <typename Each>
void each_swept(const Sweep& sweep, Notes& notes, Each each) {
  for (const SweptPath& swept : sweep.paths()) {
    const auto is = [&](const std::string& key) { return is_of(swept, key); };
    each(is, [&](const std::string& key, const char* why, bool acts) {
      if (is(key)) notes.given("sweep of " + swept.path(), "", why, acts);
    });
  }
}

constexpr std::array kOfQueues{
    "priorities",          "channels",          "channel_assignment", "queue_order",
    "resident_kernels",    "placement",         "sm_order",           "rules",
    "delays.kernel_issue", "delays.kernel_end", "delays.copy_issue",  "delays.copy_end"};

// Whose contexts take turns on the device, under some policy of a point.
struct Turns {
  explicit Turns(const Point& point) {
    for (const Contender& policy : point.policies) {
      const Device& device = point.device_of(policy);
      const auto& clients = point.workload_of(policy).sample().clients;
      const auto any = [&](const auto& is) { return std::any_of(clients.begin(), clients.end(), is); };
      recorded =
          recorded || (device.time_slice && device.arbitration != Arbitration::mps && any(is_recorded));
      const bool all_native = needs_of(policy).has(Capability::native);
      if (device.arbitration != Arbitration::timeslice || !device.rules.on(Rule::T1) ||
          !any([&](const Client& client) { return !is_recorded(client) && (all_native || client.native); }))
        continue;
      native = true;
      stopped = stopped || device.time_slice->stops_blocks;
      by_creation = by_creation || device.time_slice->order == TimeSlice::Order::creation;
    }
  }

  bool recorded = false;     // recorded programs'
  bool native = false;       // others'
  bool stopped = false;      // of those, some stop blocks
  bool by_creation = false;  // of those, some follow the order of creation
};

void note_time_slices(const Sweep& sweep, const Point& point, Notes& notes) {
  const Turns turns(point);
  constexpr const char *kNoTurns = "no contexts take turns on the device here",
                       *kRecorded = "only turns of recorded programs heed it",
                       *kNative = "turns of recorded programs do not heed it",
                       *kEnd = "no blocks are stopped here",
                       *kOrder = "who has waited for longest follows here";
  const bool any = turns.recorded || turns.native;
  each_swept(sweep, notes, [&](const auto& is, const auto& note) {
    if (!any) return note("device.time_slice", kNoTurns, false);
    bool whole = is("device.time_slice");  // and not one of the keys that some turns do not heed
    const auto note_keys = [&](std::initializer_list<const char*> keys, const char* why, bool acts) {
      for (const char* key : keys) {
        note(std::string("device.time_slice.") + key, why, acts);
        whole = whole && !is(std::string("device.time_slice.") + key);
      }
    };
    note_keys({"renewal", "linger"}, kRecorded, turns.recorded);
    note_keys({"order", "blocks"}, kNative, turns.native);
    note_keys({"stop", "resume", "stop_full", "resume_full"}, kEnd, turns.recorded || turns.stopped);
    note_keys({"choice"}, kOrder, turns.recorded || turns.by_creation);
    if (whole) note("device.time_slice", kNoTurns, true);
  });
}

// Recorded programs have streams of their own, and leave the GPU as their recordings say. Only whom another
// could displace is limited in flight.
void note_of_recorded(const Sweep& sweep, const Point& point, Notes& notes) {
  const auto& clients = point.workload->sample().clients;
  const bool leave = std::any_of(clients.begin(), clients.end(),
                                 [](const Client& client) { return client.recorded->has_forms(); });
  const bool ranked = std::any_of(clients.begin(), clients.end(), [&](const Client& client) {
    return client.priority != clients.front().priority;
  });
  bool limited = false;
  for (const Contender& policy : point.policies) {
    if (policy.granting.in_flight == 0) continue;
    notes.given("key grant.in_flight", "", "no client has a higher priority than another", ranked);
    limited = limited || ranked;
  }
  const bool access = std::any_of(point.policies.begin(), point.policies.end(), [](const Contender& policy) {
    return needs_of(policy).has(Capability::access);
  });
  const bool shared = std::any_of(point.policies.begin(), point.policies.end(), [&](const Contender& policy) {
    return point.device_of(policy).arbitration == Arbitration::mps;
  });
  each_swept(sweep, notes, [&](const auto& is, const auto& note) {
    constexpr const char *kPrograms = "all clients are recorded programs",
                         *kAccess = "no policy here controls access";
    note("mechanism", kPrograms, std::any_of(point.policies.begin(), point.policies.end(), costs_slices));
    note("device.polls", kPrograms, leave);
    bool whole = is("device.access");  // and not one of its keys
    const auto note_access = [&](const char* key, const char* why, bool acts) {
      note(std::string("device.access.") + key, why, acts);
      whole = whole && !is(std::string("device.access.") + key);
    };
    note_access("departure", "no kernel here leaves early", leave);
    for (const char* key : {"limited", "event"})
      note_access(key, "no policy here limits what is in flight", limited);
    for (const char* key : {"turns", "switch", "interception", "poll", "channels"})
      note_access(key, kAccess, access);
    if (whole) note("device.access", kAccess, access || leave || limited);
    for (const char* key : kOfQueues)
      note(std::string("device.") + key, kPrograms, std::string_view(key) == "channels" && access);
    note("device.arbitration", "recorded programs take turns under every one but mps", shared);
  });
  note_time_slices(sweep, point, notes);
}

// The costs of reading a flag: each one, if it is swept by itself, or all of them.
template <typename Is, typename Note>
void note_polls(const Is& is, const Note& note, const Point& point) {
  if (!is("device.polls")) return;
  if (!polls(point)) return note("device.polls", "no mechanism here polls", false);
  constexpr const char* kUnread = "no mechanism here goes by it";
  if (is("device.polls.host"))
    note("device.polls.host", kUnread, heeds(point, [](PollCosts& costs) { costs.host += 1_ms; }));
  else if (is("device.polls.device"))
    note("device.polls.device", kUnread, heeds(point, [](PollCosts& costs) { costs.device += 1_ms; }));
  else if (is("device.polls.proxy"))
    note("device.polls.proxy", kUnread,
         heeds(point, [](PollCosts& costs) { costs.proxy = costs.proxy.value_or(0_ns) + 1_ms; }));
  else
    note("device.polls", kUnread, true);
}

// What is swept and has one result for all its values. Notes nothing where that is not certain.
void note_sweep(const Sweep& sweep, const Point& point, const Queues& queues, Notes& notes) {
  const auto& clients = point.workload->sample().clients;
  const bool programs = std::any_of(clients.begin(), clients.end(), is_program);
  const bool native = queues.native || std::any_of(clients.begin(), clients.end(), is_native);
  each_swept(sweep, notes, [&](const auto& is, const auto& note) {
    note("mechanism", "every policy here has a mechanism of its own",
         std::any_of(point.policies.begin(), point.policies.end(), [&](const Contender& policy) {
           return policy.mechanism.entry == point.mechanism.entry;
         }));
    note_polls(is, note, point);
    note("device.access", "clients submit to channels under no policy here", queues.channels || programs);
    constexpr const char* kQueues = "no client submits to the device's own queues";
    note("device.arbitration", kQueues, native || queues.channels || programs);
    for (const char* key : kOfQueues) note(std::string("device.") + key, kQueues, native || programs);
  });
  note_time_slices(sweep, point, notes);
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
  Notes notes;
  experiment.points.each_checked([&](const Point& point) {
    const Workload& workload = point.workload->sample();
    note_orders(point, notes);
    // RecordedMachines tells the rest of these.
    if (std::all_of(workload.clients.begin(), workload.clients.end(), is_recorded)) {
      note_mechanisms(experiment.points.sweep(), point, notes);
      return note_of_recorded(experiment.points.sweep(), point, notes);
    }
    for (const Contender& policy : point.policies)
      notes.given("mechanism " + policy.mechanism.entry->name, "", "", true);
    const Queues queues(point);
    note_grants(point, notes);
    note_sweep(experiment.points.sweep(), point, queues, notes);
    note_jitter(*point.workload, queues, notes);
    for (const Client& client : workload.clients) note_client(client, queues, notes);
  });
  return notes.lines();
}

}  // namespace gangway
