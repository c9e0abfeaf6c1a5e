#include "sim/blocks/native_clients.hpp"

#include <algorithm>
#include <map>

#include "models/run/client_run.hpp"
#include "models/run/jitter.hpp"

namespace gangway {
namespace {

// Exceptions are sorted by job and block.
std::span<const BlockException> exceptions_of(const Kernel& kernel, std::uint32_t job) {
  const auto& all = kernel.exceptions;
  const auto first = std::lower_bound(all.begin(), all.end(), job,
                                      [](const BlockException& e, std::uint32_t j) { return e.job < j; });
  const auto last = std::find_if(first, all.end(), [&](const BlockException& e) { return e.job != job; });
  return {first, last};
}

}  // namespace

NativeClients::NativeClients(const WorldSetup& setup, bool all, BlockScheduler& blocks, Alarm alarm,
                             Journal& journal, NativeHost& host)
    : setup_(setup),
      blocks_(blocks),
      journal_(journal),
      host_(host),
      rules_(setup.device.rules),
      contexts_(contexts_of(setup.workload.clients, setup.device)),
      clients_(setup.workload.clients.size()),
      streams_(make_streams(setup, all, alarm)) {}

// Streams are numbered in the order of the clients that name them first.
StreamQueues NativeClients::make_streams(const WorldSetup& setup, bool all, Alarm alarm) {
  std::map<std::string, std::uint32_t> named;
  std::uint32_t streams = 0;
  for (std::size_t c = 0; c < clients_.size(); ++c) {
    const Client& client = setup.workload.clients[c];
    if (!all && !client.native) continue;
    ClientState& state = clients_[c];
    state.client = &client;
    state.program = program_of(client);
    state.context = contexts_[c];
    for (const Kernel& kernel : client.kernels) state.lengths.push_back(block_length(setup.device, kernel));
    const auto known = client.stream.empty() ? named.end() : named.find(client.stream);
    state.stream = known != named.end() ? known->second : streams++;
    if (!client.stream.empty()) named.emplace(client.stream, state.stream);
  }
  const auto null = named.find(kNullStream);
  return {streams, null != named.end() ? std::optional(null->second) : std::nullopt, setup.device, alarm};
}

std::vector<Operation> NativeClients::program_of(const Client& client) {
  std::vector<Operation> program;
  const auto add = [&]() -> Operation& {
    Operation& operation = program.emplace_back();
    operation.place = static_cast<std::uint32_t>(program.size() - 1);
    return operation;
  };
  const auto add_copy = [&](CopyDirection direction, Bytes size) {
    if (size.count == 0) return;
    Operation& operation = add();
    operation.copy = true;
    operation.direction = direction;
    operation.size = size;
  };
  add_copy(CopyDirection::to_device, client.copy_in);
  for (std::uint32_t k = 0; k < client.kernels.size(); ++k) add().kernel = k;
  add_copy(CopyDirection::to_host, client.copy_out);
  return program;
}

void NativeClients::reset(const RunSeed& seed) {
  seed_ = seed;
  streams_.reset();
  for (ClientState& state : clients_) state.jobs.clear();
}

// RTSS17.G1: all of a job's operations are issued at its release, or, where the rule is off, one after the
// other (and the first when the client's job before is over).
void NativeClients::release(JobId id, Time now) {
  ClientState& state = state_of(id);
  state.jobs.push_back({id, now, 0, static_cast<std::uint32_t>(state.program.size())});
  if (rules_.on(Rule::G1))
    while (state.jobs.back().issued < state.program.size()) issue(state, state.jobs.back(), now);
  else if (state.jobs.size() == 1)
    issue(state, state.jobs.back(), now);
}

void NativeClients::issue(ClientState& state, Job& job, Time now) {
  Operation operation = state.program[job.issued++];
  operation.job = job.id;
  operation.released = job.released;
  if (operation.copy) {
    note(operation, Mark::issued, now);
  } else {
    operation.grid = blocks_.add(grid_of(state, operation));
    note(operation, Mark::issued, now);
    if (setup_.device.queue_order == QueueOrder::release_all) blocks_.join(operation.grid, now);
  }
  streams_.issue(state.stream, operation, now);
}

LaunchedGrid NativeClients::grid_of(const ClientState& state, const Operation& operation) const {
  const Kernel& kernel = state.client->kernels[operation.kernel];
  LaunchedGrid grid;
  grid.launch = host_.next_launch();
  grid.job = operation.job;
  grid.kernel = operation.kernel;
  grid.released = operation.released;
  grid.priority = state.client->priority;
  grid.context = state.context;
  grid.needs = needs_of(setup_.device, kernel);
  grid.blocks = kernel.block_tasks.count;
  grid.ready = setup_.device.queue_order != QueueOrder::release_all;
  grid.event_behind = kernel.code != nullptr;  // the real worlds record its end so
  BlockLengths& lengths = grid.lengths;
  lengths.all = state.lengths[operation.kernel];
  const Jitter& jitter = setup_.workload.jitter;
  if (jitter.kernel_time > 0)
    lengths.all = drawn_time(lengths.all, kernel_time_factor(jitter, seed_, operation.job));
  if (jitter.block_time > 0) {
    lengths.jitter = jitter.block_time;
    lengths.normal = jitter.normal;
    lengths.random.emplace(
        seed_.seed, "block_time",
        std::initializer_list<std::uint64_t>{seed_.replication, seed_.permutation, operation.job.client.index,
                                             operation.job.number, operation.kernel});
  }
  lengths.exceptions = exceptions_of(kernel, operation.job.number);
  return grid;
}

void NativeClients::advance(Time now) {
  streams_.advance(
      now,
      [&](const Operation& operation) {
        if (operation.copy) {
          note(operation, Mark::queued, now);
          host_.ask_for_copy(operation.direction, {operation.job, operation.size});
        } else if (setup_.device.queue_order == QueueOrder::release_all) {
          blocks_.make_ready(operation.grid);
        } else {
          blocks_.join(operation.grid, now);
        }
      },
      [&](const Operation& operation, Rule rule) {
        note(operation, Mark::held, now, static_cast<std::int64_t>(rule));
      });
}

// A program has at most one copy in each direction.
Operation& NativeClients::operation_of(const CopyQueue::Copy& copy, CopyDirection direction) {
  std::vector<Operation>& program = state_of(copy.job).program;
  return direction == CopyDirection::to_device ? program.front() : program.back();
}

void NativeClients::copy_begun(const CopyQueue::Copy& copy, CopyDirection direction, Time now) {
  Operation operation = operation_of(copy, direction);
  operation.job = copy.job;
  if (rules_.on(Rule::C3)) note(operation, Mark::dequeued, now);
  if (!rules_.on(Rule::C4)) streams_.leave(state_of(copy.job).stream, copy.job, operation.place);
}

void NativeClients::copied(const CopyQueue::Copy& copy, CopyDirection direction, Time now) {
  Operation operation = operation_of(copy, direction);
  operation.job = copy.job;
  if (!rules_.on(Rule::C3)) note(operation, Mark::dequeued, now);
  over(copy.job, operation.place, rules_.on(Rule::C4), now);
}

std::uint32_t NativeClients::place_of_kernel(const LaunchedGrid& grid) const {
  return grid.kernel + (clients_[grid.job.client.index].client->copy_in.count > 0 ? 1 : 0);
}

void NativeClients::assigned(GridSlot slot) {
  if (rules_.on(Rule::G4)) return;
  const LaunchedGrid& grid = blocks_.grid(slot);
  streams_.leave(state_of(grid.job).stream, grid.job, place_of_kernel(grid));
}

void NativeClients::done(GridSlot slot, Time now) {
  const LaunchedGrid grid = blocks_.grid(slot);
  blocks_.finish(slot, now);
  journal_.note({.time = now,
                 .launch = grid.launch,
                 .amount = grid.blocks,
                 .job = grid.job,
                 .kernel = grid.kernel,
                 .mark = Mark::gone});
  over(grid.job, place_of_kernel(grid), rules_.on(Rule::G4), now);
}

void NativeClients::over(JobId id, std::uint32_t place, bool leaves, Time now) {
  ClientState& state = state_of(id);
  if (leaves) streams_.ended(state.stream, id, place, state.program[place].copy, now);
  const auto job =
      std::find_if(state.jobs.begin(), state.jobs.end(), [&](const Job& j) { return j.id == id; });
  --job->left;
  if (!rules_.on(Rule::G1) && job->issued < state.program.size()) issue(state, *job, now);
  if (job->left > 0) return;
  state.jobs.erase(job);
  host_.native_job_over(id);
  if (!rules_.on(Rule::G1) && !state.jobs.empty() && state.jobs.front().issued == 0)
    issue(state, state.jobs.front(), now);
}

void NativeClients::note(const Operation& operation, Mark mark, Time now, std::int64_t amount) {
  Record record{
      .time = now, .amount = amount, .job = operation.job, .kernel = operation.kernel, .mark = mark};
  if (operation.copy) {
    record.copy = true;
    record.direction = operation.direction;
  } else {
    record.launch = blocks_.grid(operation.grid).launch;
  }
  journal_.note(record);
}

}  // namespace gangway
