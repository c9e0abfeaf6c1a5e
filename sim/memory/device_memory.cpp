#include "sim/memory/device_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/shown.hpp"

namespace gangway {
namespace {

// All but what so many blocks have of their own.
StateSizes without(const StateSizes& all, const StateSizes& block, BlockCount blocks) {
  return {all.footprint - block.footprint * blocks, all.first_restore - block.first_restore * blocks,
          all.restore - block.restore * blocks, all.save - block.save * blocks,
          all.output - block.output * blocks};
}

}  // namespace

DeviceMemory::DeviceMemory(const WorldSetup& setup, JobBook& book)
    : setup_(&setup), book_(&book), free_bytes_(static_cast<std::size_t>(setup.device.gpus)) {
  for (const Client& client : setup.workload.clients) {
    State state;
    state.block = block_sizes(client);
    if (state.block.footprint.count > 0) state.blocks.last = largest_grid(client);
    state.shared = without(state_sizes(client), state.block, state.blocks.last);
    state.native = client.native;
    state.parts.resize(free_bytes_.size());
    states_.push_back(std::move(state));
  }
  book.set_memory(this);
}

void DeviceMemory::reset() {
  std::fill(free_bytes_.begin(), free_bytes_.end(), setup_->device.memory);
  for (std::uint32_t c = 0; c < states_.size(); ++c) {
    State& state = states_[c];
    for (Part& part : state.parts) part = {};
    job_over(ClientId{c});
    if (state.native) free_bytes_[0] -= setup_->workload.clients[c].memory;
  }
}

Bytes DeviceMemory::room(DeviceId gpu) const {
  if (gpu.index >= free_bytes_.size()) refuse_index("GPU", gpu.index, free_bytes_.size());
  return free_bytes_[gpu.index];
}

Duration DeviceMemory::copy_time(Bytes size) const {
  if (size < Bytes{0}) throw std::out_of_range(fmt::format("a copy of {} bytes", size.count));
  const Bandwidth bandwidth = setup_->device.h2d.bandwidth;
  if (bandwidth.bytes_per_second == 0 && size > Bytes{0})
    throw std::out_of_range("a copy on a device without copy engines");
  return size > Bytes{0} ? transfer_time(size, bandwidth) : Duration{};
}

bool DeviceMemory::holds(JobId job, DeviceId gpu, BlockRange blocks) const {
  const Part& here = asked(job.client, gpu);
  const State& state = states_[job.client.index];
  return here.residence == Residence::resident && (here.current || state.shared.save.count == 0) &&
         (state.blocks.empty() || here.blocks.contains(common(blocks, state.blocks)));
}

BlockSet DeviceMemory::missing(const State& state, const Part& part, BlockRange blocks) {
  BlockSet missing(common(blocks, state.blocks));
  for (const BlockRange& there : part.blocks.ranges()) missing.remove(there);
  return missing;
}

Bytes DeviceMemory::takes(JobId job, DeviceId gpu, BlockRange blocks) const {
  const Part& here = asked(job.client, gpu);
  const State& state = states_[job.client.index];
  const Bytes shared = here.residence == Residence::absent ? state.shared.footprint : Bytes{};
  return shared + state.block.footprint * missing(state, here, blocks).size();
}

Bytes DeviceMemory::copies(JobId job, DeviceId gpu, BlockRange blocks) const {
  const Part& here = asked(job.client, gpu);
  const State& state = states_[job.client.index];
  Bytes size;
  if (here.residence == Residence::absent)
    size = state.written ? state.shared.restore : state.shared.first_restore;
  else if (!here.current && !here.arriving)
    size = state.shared.save;
  const BlockSet absent = missing(state, here, blocks);
  for (const BlockRange& range : absent.ranges()) {
    const BlockCount written = state.written_blocks.size_within(range);
    size += state.block.restore * written + state.block.first_restore * (range.size() - written);
  }
  return size;
}

bool DeviceMemory::changed_elsewhere(JobId job, DeviceId gpu, BlockRange blocks) const {
  const Part& here = asked(job.client, gpu);
  const State& state = states_[job.client.index];
  const bool current = here.residence == Residence::resident && here.current;
  if (state.shared.save.count > 0 && !state.on_host && !current) return true;
  const BlockRange own = common(blocks, state.blocks);
  return std::any_of(state.parts.begin(), state.parts.end(),
                     [&](const Part& part) { return &part != &here && part.unsaved.meets(own); });
}

bool DeviceMemory::changed_on(JobId job, DeviceId gpu, BlockRange blocks) const {
  const Part& there = asked(job.client, gpu);
  const State& state = states_[job.client.index];
  return (!state.on_host && there.version) || there.unsaved.meets(common(blocks, state.blocks));
}

std::string DeviceMemory::refusal(JobId job) const {
  if (job.client.index >= states_.size()) return "a save or restore of an unknown job";
  const JobFacts& facts = book_->job(job);
  if (facts.id != job || facts.finished()) return "a save or restore of a job that is not in progress";
  return "";
}

std::string DeviceMemory::save_refusal(JobId job, DeviceId gpu) const {
  if (std::string why = refusal(job); !why.empty()) return why;
  return residence(job.client, gpu) == Residence::resident ? ""
                                                           : "a save of a state that is not on the device";
}

std::string DeviceMemory::restore_refusal(JobId job, DeviceId gpu, BlockRange blocks) const {
  if (std::string why = refusal(job); !why.empty()) return why;
  const Residence residence = this->residence(job.client, gpu);
  if (residence == Residence::restoring || residence == Residence::saving || holds(job, gpu, blocks))
    return "a restore of a state that is on the device";
  if (changed_elsewhere(job, gpu, blocks))
    return "a restore of a state that another GPU has changed and not saved";
  if (const Bytes bytes = takes(job, gpu, blocks); bytes > room(gpu))
    return fmt::format("a restore of {} with {} left", shown_size(bytes), shown_size(room(gpu)));
  return "";
}

Bytes DeviceMemory::restore_begins(JobId job, DeviceId gpu, BlockRange blocks) {
  State& state = states_[job.client.index];
  Part& here = state.parts[gpu.index];
  const Bytes size = copies(job, gpu, blocks);
  free_bytes_[gpu.index] -= takes(job, gpu, blocks);
  here.residence = Residence::restoring;
  here.arriving = true;
  here.blocks.add(common(blocks, state.blocks));
  return size;
}

Bytes DeviceMemory::save_begins(JobId job, DeviceId gpu) {
  const State& state = states_[job.client.index];
  Part& here = part(job.client, gpu);
  here.residence = Residence::saving;
  return (here.changed ? state.shared.save : Bytes{}) + state.block.save * here.unsaved.size();
}

void DeviceMemory::restored(ClientId client, DeviceId gpu) {
  Part& here = part(client, gpu);
  here.residence = Residence::resident;
  here.current = here.current || here.arriving;
  here.arriving = false;
}

void DeviceMemory::saved(ClientId client, DeviceId gpu) {
  State& state = states_[client.index];
  Part& here = part(client, gpu);
  if (here.version && state.versions == 1) {  // the host has the only one
    outdate(state, gpu);
    here.version = false;
    state.versions = 0;
    state.on_host = true;
  }
  give(state, gpu);
}

// What blocks share is older there than on this GPU.
void DeviceMemory::outdate(State& state, DeviceId but) {
  for (std::uint32_t g = 0; g < state.parts.size(); ++g)
    if (g != but.index) state.parts[g].current = state.parts[g].arriving = false;
}

void DeviceMemory::kernel_over(ClientId client) {
  State& state = states_[client.index];
  for (std::uint32_t g = 0; g < state.parts.size(); ++g) {
    if (!state.parts[g].version) continue;
    state.on_host = false;
    outdate(state, DeviceId{g});
  }
}

Bytes DeviceMemory::unmerged(ClientId client, DeviceId gpu) const {
  const Part& there = part(client, gpu);
  return there.version && there.changed ? states_[client.index].shared.save : Bytes{};
}

Bytes DeviceMemory::versions(ClientId client) const {
  const State& state = states_[client.index];
  return state.shared.save * BlockCount{state.versions};
}

void DeviceMemory::merged_on_host(ClientId client) {
  State& state = states_[client.index];
  for (Part& part : state.parts) part.version = part.current = part.arriving = part.changed = false;
  state.versions = 0;
  state.on_host = true;
}

void DeviceMemory::leaving(ClientId client) {
  for (Part& part : states_[client.index].parts)
    if (part.residence != Residence::absent) part.residence = Residence::saving;
}

Bytes DeviceMemory::outputs(ClientId client, DeviceId gpu) const {
  const State& state = states_[client.index];
  const bool last = state.last == gpu;
  if (setup_->workload.clients[client.index].variables.empty()) return last ? state.shared.output : Bytes{};
  const Bytes shared = last && !state.on_host ? state.shared.output : Bytes{};
  return shared + state.block.output * part(client, gpu).blocks.size();
}

bool DeviceMemory::free(ClientId client, DeviceId gpu) {
  if (residence(client, gpu) == Residence::absent) return false;
  give(states_[client.index], gpu);
  return true;
}

void DeviceMemory::job_over(ClientId client) {
  State& state = states_[client.index];
  for (Part& part : state.parts) part.version = false;
  state.written = false;
  state.on_host = true;
  state.versions = 0;
  state.written_blocks.clear();
}

Bytes DeviceMemory::held(ClientId client, DeviceId gpu) const {
  const Part& there = asked(client, gpu);
  const State& state = states_[client.index];
  if (there.residence == Residence::absent) return {};
  return state.shared.footprint + state.block.footprint * there.blocks.size();
}

void DeviceMemory::lose(State& state, DeviceId gpu, BlockRange blocks) {
  Part& there = state.parts[gpu.index];
  free_bytes_[gpu.index] += state.block.footprint * there.blocks.size_within(blocks);
  there.blocks.remove(blocks);
  there.unsaved.remove(blocks);
}

// All of it leaves the GPU. A version that is to be merged is on the host.
void DeviceMemory::give(State& state, DeviceId gpu) {
  Part& there = state.parts[gpu.index];
  free_bytes_[gpu.index] += state.shared.footprint + state.block.footprint * there.blocks.size();
  const bool version = there.version;
  there = {};
  there.version = version;
}

}  // namespace gangway
