// Which clients' state is in which GPU's memory, and what a move copies (Share-a-GPU, II-E and IV-A), under
// policies that need `memory`. Exact definition: sim/memory/README.md. The world keeps the events and reports
// the end of copies.
#pragma once

#include <string>
#include <vector>

#include "models/run/job_book.hpp"

namespace gangway {

class DeviceMemory : public MemoryView {
 public:
  // Both must outlive this object. The book's view shows it from now on.
  DeviceMemory(const WorldSetup& setup, JobBook& book);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  // A run begins: native clients hold their memory throughout, others have none.
  void reset();

  Residence residence(ClientId client, DeviceId gpu) const override { return asked(client, gpu).residence; }
  Bytes room(DeviceId gpu) const override;
  Bytes held(ClientId client, DeviceId gpu) const override;
  bool holds(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes takes(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes copies(JobId job, DeviceId gpu, BlockRange blocks) const override;
  bool changed_elsewhere(JobId job, DeviceId gpu, BlockRange blocks) const override;
  bool changed_on(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes merged(ClientId client) const override { return asked(client).shared.save; }
  Duration copy_time(Bytes size) const override;

  // Why the policy cannot order this; empty if it can.
  std::string restore_refusal(JobId job, DeviceId gpu, BlockRange blocks) const;
  std::string save_refusal(JobId job, DeviceId gpu) const;

  // The order is given: a restore occupies the room. Returns the bytes to copy.
  Bytes restore_begins(JobId job, DeviceId gpu, BlockRange blocks);
  Bytes save_begins(JobId job, DeviceId gpu);
  // The policy is told of the end: the state is resident, or the room is free.
  void restored(ClientId client, DeviceId gpu);
  void saved(ClientId client, DeviceId gpu);

  // A launch of these block-tasks is ordered: from now on what they write differs from the host's and other
  // GPUs' copies. Calls freed(gpu) for each GPU that gains room.
  template <typename Freed>
  void launched(JobId job, DeviceId gpu, BlockRange blocks, Freed freed);

  // Whether GPUs have versions of a finished kernel that must be merged.
  bool needs_merge(ClientId client) const { return states_[client.index].versions > 1; }
  void kernel_over(ClientId client);
  // Bytes of its version there that are not on the host yet.
  Bytes unmerged(ClientId client, DeviceId gpu) const;
  // Bytes that the host reads to merge.
  Bytes versions(ClientId client) const;
  void merged_on_host(ClientId client);

  // No launch will follow: outputs are copied, then the room is freed.
  void leaving(ClientId client);
  // Output bytes to be copied from there.
  Bytes outputs(ClientId client, DeviceId gpu) const;
  // Returns whether the job had room there.
  bool free(ClientId client, DeviceId gpu);
  void job_over(ClientId client);

 private:
  // A client's state on one GPU.
  struct Part {
    Residence residence = Residence::absent;
    bool current = false;   // the shared part is at least as recent as the host's at the kernel's beginning
    bool arriving = false;  // will be current when the restore ends
    bool changed = false;   // written by launches since
    bool version = false;   // of this kernel, or of one whose writes are nowhere else
    BlockSet blocks;        // whose own part is there
    BlockSet unsaved;       // of these, those whose part differs from the host's
  };
  struct State {
    StateSizes shared;  // usable by any block
    StateSizes block;   // own part of each block
    BlockRange blocks;  // that have an own part
    bool native = false;
    bool written = false;  // the shared part was written in this job
    bool on_host = true;   // the shared part, as of the kernel's beginning
    int versions = 0;      // number of GPUs with a version
    BlockSet written_blocks;
    DeviceId last;            // GPU of the last launch
    std::vector<Part> parts;  // by GPU
  };

  // For policies' queries; refused for an unknown client or GPU.
  const State& asked(ClientId client) const {
    if (client.index >= states_.size()) refuse_index("client", client.index, states_.size());
    return states_[client.index];
  }
  const Part& asked(ClientId client, DeviceId gpu) const {
    if (gpu.index >= free_bytes_.size()) refuse_index("GPU", gpu.index, free_bytes_.size());
    return asked(client).parts[gpu.index];
  }
  const Part& part(ClientId client, DeviceId gpu) const { return states_[client.index].parts[gpu.index]; }
  Part& part(ClientId client, DeviceId gpu) { return states_[client.index].parts[gpu.index]; }
  // Blocks with an own part that is not there.
  static BlockSet missing(const State& state, const Part& part, BlockRange blocks);
  std::string refusal(JobId job) const;
  static void outdate(State& state, DeviceId but);
  void lose(State& state, DeviceId gpu, BlockRange blocks);
  void give(State& state, DeviceId gpu);

  const WorldSetup* setup_;
  JobBook* book_;
  std::vector<Bytes> free_bytes_;  // by GPU
  std::vector<State> states_;      // by client
};

template <typename Freed>
void DeviceMemory::launched(JobId job, DeviceId gpu, BlockRange blocks, Freed freed) {
  State& state = states_[job.client.index];
  Part& here = state.parts[gpu.index];
  state.written = true;
  state.last = gpu;
  here.changed = true;
  if (state.shared.save.count > 0 && !here.version) {
    here.version = true;
    ++state.versions;
  }
  const BlockRange own = common(blocks, state.blocks);
  if (own.empty() || state.block.footprint.count == 0) return;
  state.written_blocks.add(own);
  if (state.block.save.count == 0) return;
  here.unsaved.add(own);
  for (std::uint32_t g = 0; g < free_bytes_.size(); ++g) {
    if (g == gpu.index || !state.parts[g].blocks.meets(own)) continue;
    lose(state, DeviceId{g}, own);
    freed(DeviceId{g});
  }
}

}  // namespace gangway
