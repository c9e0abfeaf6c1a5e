#include "experiments/results/recorded_machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/running/scaled_alone.hpp"
#include "models/recorded.hpp"

namespace gangway {
namespace {

std::string gib(Bytes bytes) {
  if (bytes == Device::kAnyMemory) return "any memory";
  return fmt::format("{:.0f} GiB", static_cast<double>(bytes.count) / (std::int64_t{1} << 30));
}

constexpr double kOtherMemory = 0.1;           // drivers keep some of it for themselves
constexpr double kLittle = 0.01, kOff = 0.05;  // of a program's time that is not played; of its jobs' times

bool has_sliced_kernel(const Client& client) {
  const auto sliced = [](const LeavingKernel& kernel) { return kernel.form != nullptr && kernel.sliced; };
  return client.recorded != nullptr &&
         std::any_of(client.recorded->leaving.begin(), client.recorded->leaving.end(), sliced);
}

// Of a run under a policy with these needs, which grants GPUs.
bool has_kernel_that_leaves(const Client& client, const Capabilities& needs) {
  if (needs.has(Capability::ranges)) return has_sliced_kernel(client);
  const auto leaves = [](const LeavingKernel& kernel) {
    return kernel.form != nullptr && kernel.form->entry().needs == PreemptionLevel::block_task;
  };
  return client.recorded != nullptr &&
         std::any_of(client.recorded->leaving.begin(), client.recorded->leaving.end(), leaves);
}

bool has_jitter(const Jitter& jitter) {
  return jitter.kernel_time > 0 || jitter.block_time > 0 || jitter.gap > 0;
}

// Jobs take the host at least half of the time, and the GPU less than three quarters.
bool takes_its_host(const Recorded& recorded) {
  const recording::PlayedProgram& program = *recorded.program;
  Duration lengths, host;
  for (recording::Index j = recorded.from; j < recorded.to; ++j) {
    lengths += program.jobs[j].length;
    const recording::Index first = program.jobs[j].first_segment;
    const recording::Segment& home = program.segments[first];
    host += home.head + home.tail;
    for (recording::Index s = home.begin; s < home.end; ++s)
      host += (s == home.begin ? Duration{} : program.steps[s].gap) +
              (program.steps[s].waits ? Duration{} : program.steps[s].own);
  }
  return 2 * host.ns >= lengths.ns && 4 * recorded.busy.ns < 3 * recorded.job.ns;
}

// The mean time between releases of jobs, at least; 0: nothing is known, or they follow each other.
Duration between_releases(const Client& client) {
  const Repeat& repeat = client.repeat;
  if (repeat.period) return *repeat.period;
  if (repeat.think) return client.recorded->job + *repeat.think;
  if (repeat.arrivals && repeat.arrivals->process)
    return Duration{std::llround(1e9 / repeat.arrivals->rate.per_second)};
  const std::vector<Duration>& times = repeat.arrivals ? *repeat.arrivals->times : repeat.releases;
  if (times.size() < 2) return {};
  return {(times.back() - times.front()).ns / static_cast<std::int64_t>(times.size() - 1)};
}

// Its program had hardly a pause when it was recorded, and has one after most jobs here.
bool has_pauses_only_here(const Client& client) {
  const Recorded& recorded = *client.recorded;
  const auto& jobs = recorded.program->jobs;
  if (recorded.to - recorded.from < 2) return false;
  Duration covered;
  Time end = jobs[recorded.from].begin;
  for (recording::Index j = recorded.from; j < recorded.to; ++j) {
    const Time its = jobs[j].begin + jobs[j].length;
    if (its <= end) continue;
    covered += its - std::max(end, jobs[j].begin);
    end = its;
  }
  return 5 * (end - jobs[recorded.from].begin).ns < 6 * covered.ns &&
         between_releases(client).ns > 2 * recorded.job.ns;
}

// What some of its graphs' kernels hold of a GPU was not recorded.
bool has_unknown_graphs(const Recorded& recorded) {
  std::set<recording::Index> known;
  for (const recording::PlayedNode& node : recorded.program->nodes) known.insert(node.graph);
  return known.size() < recorded.program->graphs();
}

bool charges_what_is_held(const Device& device) {
  const auto& slice = device.time_slice;
  return device.arbitration != Arbitration::mps && slice &&
         (slice->stop_full > slice->stop || slice->resume_full > slice->resume);
}

std::string of_unrecorded(const Client& client) {
  const Recorded& recorded = *client.recorded;
  const std::string time = to_text(Duration{(recorded.unrecorded->time.ns + 500) / 1000 * 1000});
  return recorded.host_scale == 1
             ? fmt::format(
                   "{}: its median job takes {} unrecorded, but a faster host does not explain that, so "
                   "it is played as recorded",
                   client.name, time)
             : fmt::format(
                   "{}: its host's times are scaled by {:.2f}, since {} {} alone and unrecorded", client.name,
                   recorded.host_scale,
                   recorded.unrecorded->of_recording ? "its median job takes" : "a job takes on the average",
                   time);
}

}  // namespace

bool RecordedMachine::is_another() const {
  if (!is_known()) return true;
  if (sms != static_cast<std::uint64_t>(device_sms)) return true;
  const auto recorded = static_cast<double>(memory.count), played = static_cast<double>(device_memory.count);
  return device_memory != Device::kAnyMemory && std::abs(recorded - played) > kOtherMemory * played;
}

void RecordedMachines::see(const Point& point) {
  for (const Contender& policy : point.policies) {
    const Device& device = point.device_of(policy);
    std::size_t recorded = 0;
    std::set<std::string> unknown;
    for (const Client& client : point.workload_of(policy).sample().clients)
      if (client.recorded) {
        ++recorded;
        if (client.recorded->beside) taken_beside_.insert(client.name);
        if (const auto& alone = client.recorded->unrecorded;
            alone && (alone->of_recording || client.recorded->host_scale != 1))
          unrecorded_.insert(of_unrecorded(client));
        else if (!alone && !client.recorded->host_scale_given && takes_its_host(*client.recorded))
          slowed_.insert(client.name);
        if (has_pauses_only_here(client)) without_pauses_.insert(client.name);
        if (has_unknown_graphs(*client.recorded)) unknown.insert(client.name);
        see_program(client);
        const auto& gpu = client.recorded->gpu;
        seen_.insert({client.name, gpu.name, gpu.sms, gpu.memory, device.name, device.sms, device.memory});
      }
    if (recorded > static_cast<std::size_t>(device.gpus) && device.arbitration == Arbitration::mps)
      see_room(point, policy, unknown);
    if (recorded > 1 && charges_what_is_held(device)) graphs_unknown_.insert(unknown.begin(), unknown.end());
    if (recorded > 0) {
      see_settings(point, policy);
      see_memory(point, policy);
    }
  }
}

// Under MPS kernels wait for room, but where any can leave early, or what graphs consist of is not known.
void RecordedMachines::see_room(const Point& point, const Contender& policy,
                                const std::set<std::string>& unknown) {
  const Capabilities needs = needs_of(policy);
  const auto& clients = point.workload_of(policy).sample().clients;
  const bool grants = !needs.has(Capability::access) && !needs.has(Capability::native);
  if (grants && policy.granting.forms != TakeForms::none &&
      std::any_of(clients.begin(), clients.end(),
                  [&](const Client& client) { return has_kernel_that_leaves(client, needs); })) {
    leave_under_mps_.insert(policy.label);
    best_cases_.insert(policy.label);
    return;
  }
  under_mps_.insert(policy.label);
  if (unknown.empty()) return;
  unknown_under_mps_.insert(unknown.begin(), unknown.end());
  best_cases_.insert(policy.label);
}

// A client has the memory that the workload gives it, not what its program held when it was recorded.
void RecordedMachines::see_memory(const Point& point, const Contender& policy) {
  const Device& device = point.device_of(policy);
  std::vector<std::string> clients;
  Bytes all;
  for (const Client& client : point.workload_of(policy).sample().clients) {
    all += client.memory;
    if (!client.recorded || client.memory > Bytes{}) continue;
    const Bytes held = client.recorded->program->most_memory();
    if (held == Bytes{}) continue;
    all += held;
    clients.push_back(client.name);
  }
  if (clients.empty()) return;
  if (needs_of(policy).has(Capability::memory))
    without_memory_.insert(
        fmt::format("{}: recorded with memory, but its moves take no time without the key memory",
                    fmt::join(clients, ", ")));
  else if (device.memory != Device::kAnyMemory && all > Bytes{device.gpus * device.memory.count})
    without_memory_.insert(
        fmt::format("{}: when recorded, the programs held {} together, more than {} has ({}); what they hold "
                    "is not simulated without the key memory",
                    fmt::join(clients, ", "), gib(all), device.name, gib(device.memory)));
}

void RecordedMachines::see_program(const Client& client) {
  const Recorded& recorded = *client.recorded;
  if (!programs_.insert({recorded.file, recorded.from, recorded.to}).second) return;
  Duration busy;
  for (const auto& job : recorded.program->jobs) busy += job.busy;
  const Duration unplayed = recorded.program->unplayed();
  const double left_out = static_cast<double>(unplayed.ns) / static_cast<double>((busy + unplayed).ns);
  if (left_out > kLittle)
    not_as_recorded_.insert(
        fmt::format("{}: {:.0f} % of its time on the GPU belong to no job and are not played", client.name,
                    100 * left_out));
  Duration lengths;
  for (recording::Index j = recorded.from; j < recorded.to; ++j) lengths += recorded.program->jobs[j].length;
  const auto as_recorded = static_cast<double>(lengths.ns) / (recorded.to - recorded.from);
  const Duration played = job_played_as_recorded(client);
  const double off = static_cast<double>(played.ns) / as_recorded - 1;
  if (as_recorded > 0 && std::abs(off) > kOff)
    not_as_recorded_.insert(fmt::format(
        "{}: played alone, its jobs take {} on the average, {:+.0f} % from the recorded {}; what is "
        "predicted of it may be off by as much",
        client.name, to_text(played), 100 * off, to_text(Duration{std::llround(as_recorded)})));
}

void RecordedMachines::see_settings(const Point& point, const Contender& policy) {
  const Workload& workload = point.workload_of(policy).sample();
  const Capabilities needs = needs_of(policy);
  if (needs.has(Capability::ranges) &&
      std::none_of(workload.clients.begin(), workload.clients.end(), has_sliced_kernel))
    unsliced_.insert(policy.label);
  if (has_jitter(workload.jitter))
    without_effect_.insert("jitter has no effect on recorded programs, but that of arrivals");
  if (workload.jitter.arrival > Duration{} &&
      std::all_of(workload.clients.begin(), workload.clients.end(),
                  [](const Client& client) { return client.recorded && client.recorded->own_pace; }))
    without_effect_.insert("jitter of arrivals has no effect, as all programs go at their own pace");
  if (needs.has(Capability::access) && policy.granting.forms.value_or(TakeForms::none) != TakeForms::none)
    without_effect_.insert("forms have no effect in simulation under policies that control access");
  const bool leaves = std::any_of(workload.clients.begin(), workload.clients.end(), [](const Client& client) {
    return client.recorded && client.recorded->has_forms();
  });
  if (leaves && policy.granting.forms == TakeForms::none)
    without_effect_.insert("forms of recordings have no effect under grants with forms: none");
}

std::vector<std::string> RecordedMachines::notes() const {
  std::map<std::string, std::string> others;  // clients, by the rest of the line
  for (const RecordedMachine& m : seen_) {
    if (!m.is_another()) continue;
    const std::string recorded = m.is_known() ? fmt::format("{} ({} SMs, {})", m.gpu, m.sms, gib(m.memory))
                                              : std::string("a GPU unknown to its profile");
    std::string& names = others[fmt::format(
        "recorded on {}, played on {} ({} SMs, {}), where all times are assumed to be the same", recorded,
        m.device, m.device_sms, gib(m.device_memory))];
    names += (names.empty() ? "" : ", ") + m.client;
  }
  std::vector<std::string> notes;
  for (const auto& [rest, names] : others) notes.push_back(names + ": " + rest);
  if (!taken_beside_.empty())
    notes.push_back(
        fmt::format("{}: profiled beside other work on the same GPU, so alone it may be faster than "
                    "is taken here",
                    fmt::join(taken_beside_, ", ")));
  if (!under_mps_.empty())
    notes.push_back(
        fmt::format("{}: kernels of several programs under MPS wait for room; that those on the GPU at once "
                    "slow each other down is not modelled",
                    fmt::join(under_mps_, ", ")));
  if (!leave_under_mps_.empty())
    notes.push_back(
        fmt::format("{}: a best case: where kernels leave early or are sliced, none waits for "
                    "room under MPS in simulation, as it does under other policies",
                    fmt::join(leave_under_mps_, ", ")));
  if (!unknown_under_mps_.empty())
    notes.push_back(fmt::format(
        "{}: kernels of its graphs are not known, so that under MPS they neither wait for room nor "
        "keep others waiting, a best case: record --graph-nodes",
        fmt::join(unknown_under_mps_, ", ")));
  if (!unsliced_.empty())
    notes.push_back(fmt::format("{}: no kernel of any client is sliced; `forms` of recordings say which are",
                                fmt::join(unsliced_, ", ")));
  notes.insert(notes.end(), unrecorded_.begin(), unrecorded_.end());
  if (!slowed_.empty())
    notes.push_back(
        fmt::format("{}: recording slowed the host, so jobs may take less than is taken here: record "
                    "--overhead measures how much, recording.alone says it",
                    fmt::join(slowed_, ", ")));
  if (!without_pauses_.empty())
    notes.push_back(fmt::format(
        "{}: recorded with one job right after the other, but released with pauses here, and a job "
        "after a pause takes longer: record jobs at such a rate",
        fmt::join(without_pauses_, ", ")));
  if (!graphs_unknown_.empty())
    notes.push_back(
        fmt::format("{}: kernels of its graphs are not known, so that stopping a graph counts as stopping a "
                    "single thread: record --graph-nodes",
                    fmt::join(graphs_unknown_, ", ")));
  notes.insert(notes.end(), not_as_recorded_.begin(), not_as_recorded_.end());
  notes.insert(notes.end(), without_memory_.begin(), without_memory_.end());
  notes.insert(notes.end(), without_effect_.begin(), without_effect_.end());
  return notes;
}

}  // namespace gangway
