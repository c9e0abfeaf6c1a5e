#include "sim/blocks/shared_device.hpp"

#include <algorithm>
#include <tuple>

namespace gangway {
namespace {

std::size_t count_of(const std::vector<std::uint32_t>& contexts) {
  return *std::max_element(contexts.begin(), contexts.end()) + 1;
}

}  // namespace

SharedDevice::SharedDevice(const WorldSetup& setup, bool all, const DeviceEvents& events, Journal& journal,
                           DeviceHost& host)
    : setup_(setup),
      all_(all),
      host_(host),
      contexts_(contexts_of(setup.workload.clients, setup.device)),
      blocks_(setup.device, events.queue, events.blocks, events.shift, Alarm{events.queue, events.look},
              count_of(contexts_), journal, setup.by_block),
      clients_(setup, all, blocks_, Alarm{events.queue, events.look}, journal, host) {}

void SharedDevice::reset(const RunSeed& seed) {
  blocks_.reset();
  clients_.reset(seed);
  launch_ = {};
  ended_copies_.clear();
  releases_.clear();
}

void SharedDevice::settle(Time now) {
  for (;;) {
    tell_clients(now);
    blocks_.vacate(now);
    clients_.advance(now);
    host_.serve_copies();
    if (blocks_.changed()) {
      blocks_.assign(now);
      if (launch_.grid) got_blocks();
      blocks_.started.clear();
      for (const GridSlot grid : blocks_.assigned)
        if (launch_.grid != grid) clients_.assigned(grid);
      blocks_.assigned.clear();
    }
    if (blocks_.done.empty() && !clients_.changed() && !host_.has_copies() && !blocks_.changed()) return;
  }
}

// Copies ended, in the order in which they began; jobs were released, in the order of clients; kernels ended,
// in the order in which they were issued.
void SharedDevice::tell_clients(Time now) {
  if (ended_copies_.size() > 1)
    std::sort(ended_copies_.begin(), ended_copies_.end(), [](const EndedCopy& a, const EndedCopy& b) {
      return std::tuple(a.began.time, a.direction, a.began.number) <
             std::tuple(b.began.time, b.direction, b.began.number);
    });
  for (const EndedCopy& ended : ended_copies_) clients_.copied(ended.copy, ended.direction, now);
  ended_copies_.clear();
  if (releases_.size() > 1) std::sort(releases_.begin(), releases_.end());
  for (const JobId job : releases_) clients_.release(job, now);
  releases_.clear();
  if (blocks_.done.empty()) return;
  finished_.swap(blocks_.done);
  std::sort(finished_.begin(), finished_.end(),
            [&](GridSlot a, GridSlot b) { return blocks_.grid(a).launch < blocks_.grid(b).launch; });
  for (const GridSlot grid : finished_)
    if (launch_.grid == grid) {
      blocks_.finish(grid, now);
      launch_ = {};
      host_.launch_gone();
    } else {
      clients_.done(grid, now);
    }
  finished_.clear();
}

// --- The policy's launch
// ------------------------------------------------------------------------------------------------

// As many as fit, but no more than there are block-tasks.
std::int64_t SharedDevice::persistent_blocks(const Launch& launch) const {
  const Kernel& kernel = setup_.workload.clients[launch.kernel.job.client.index].kernels[launch.kernel.index];
  return std::min(resident_blocks(setup_.device, kernel), (launch.range.last - launch.range.first).count);
}

std::int64_t SharedDevice::launch(const Gpu::ResidentLaunch& resident) {
  launch_ = {};
  launch_.wave = resident.delays->wave;
  return persistent_blocks(*resident.launch);
}

void SharedDevice::join(const Launch& launch, Time now) {
  const Client& client = setup_.workload.clients[launch.kernel.job.client.index];
  LaunchedGrid grid;
  grid.launch = launch.id;
  grid.job = launch.kernel.job;
  grid.kernel = launch.kernel.index;
  grid.released = now;
  grid.priority = client.priority;
  grid.context = contexts_[launch.kernel.job.client.index];
  grid.needs = needs_of(setup_.device, client.kernels[launch.kernel.index]);
  if (launch_.wave > 0) {
    grid.blocks = (launch.range.last - launch.range.first).count;
    grid.lengths.all = wave_length(launch.kernel, launch_.wave);
  } else {
    grid.blocks = persistent_blocks(launch);
    grid.persistent = true;
  }
  launch_.grid = blocks_.add(grid);
  if (launch_.flagged) blocks_.close_unassigned(*launch_.grid);
  blocks_.join(*launch_.grid, now);
}

void SharedDevice::got_blocks() {
  if (std::find(blocks_.started.begin(), blocks_.started.end(), *launch_.grid) != blocks_.started.end())
    host_.launch_started();
  if (launch_.wave > 0) return;  // its end is that of its last block
  const std::int64_t running = blocks_.running(*launch_.grid);
  if (launch_.flagged || launch_.closed || running == launch_.running) return;
  launch_.running = running;
  host_.launch_placed(running);
}

bool SharedDevice::flag_seen() {
  launch_.flagged = true;
  if (!launch_.grid) return false;
  blocks_.close_unassigned(*launch_.grid);
  return launch_.running > 0;
}

}  // namespace gangway
