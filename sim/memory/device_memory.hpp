// Which clients' state is in which GPU's memory, and what a move of it copies (Share-a-GPU, II-E and IV-A),
// under policies that need `memory`. sim/memory/README.md is the exact definition. The world keeps the events
// and tells when copies are over.
#pragma once

#include <string>
#include <vector>

#include "models/run/job_book.hpp"

namespace gangway {

class DeviceMemory : public MemoryView {
 public:
  // Both must outlive this object, which the book's view shows from now on.
  DeviceMemory(const WorldSetup& setup, JobBook& book);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  // A run begins: native clients hold their memory all the time, nobody else has any.
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

  // Why the policy cannot order this, or empty.
  std::string restore_refusal(JobId job, DeviceId gpu, BlockRange blocks) const;
  std::string save_refusal(JobId job, DeviceId gpu) const;

  // The order is given: a restore takes the room. Returns how much is to be copied.
  Bytes restore_begins(JobId job, DeviceId gpu, BlockRange blocks);
  Bytes save_begins(JobId job, DeviceId gpu);
  // The policy is told that it is over: the state is resident, or the room is free.
  void restored(ClientId client, DeviceId gpu);
  void saved(ClientId client, DeviceId gpu);

  // A launch of these block-tasks is ordered: what they write differs from the host's and from other GPUs'
  // from now on. Calls freed(gpu) for each GPU where that frees room.
  template <typename Freed>
  void launched(JobId job, DeviceId gpu, BlockRange blocks, Freed freed);

  // A kernel of the job is over. Whether GPUs have versions of it that must be merged.
  bool needs_merge(ClientId client) const { return states_[client.index].versions > 1; }
  void kernel_over(ClientId client);
  // Of these, what is not on the host yet, there.
  Bytes unmerged(ClientId client, DeviceId gpu) const;
  // All that the host reads for that.
  Bytes versions(ClientId client) const;
  void merged_on_host(ClientId client);

  // No launch will follow: outputs are on their way, then the room is free.
  void leaving(ClientId client);
  // Of the outputs, what is to be copied from there.
  Bytes outputs(ClientId client, DeviceId gpu) const;
  // Returns whether the job had room there.
  bool free(ClientId client, DeviceId gpu);
  void job_over(ClientId client);

 private:
  // A client's state on one GPU.
  struct Part {
    Residence residence = Residence::absent;
    bool current = false;   // what blocks share and write is as on the host when the kernel began, or later
    bool arriving = false;  // is going to be, when the restore ends
    bool changed = false;   // launches wrote to it since
    bool version = false;   // in this kernel, or in one whose writes are nowhere else
    BlockSet blocks;        // whose own part is there
    BlockSet unsaved;       // of these, whose part differs from the host's
  };
  struct State {
    StateSizes shared;  // what any block may use
    StateSizes block;   // what each block has of its own
    BlockRange blocks;  // that have such a part
    bool native = false;
    bool written = false;  // what blocks share, in this job
    bool on_host = true;   // what they share, as of the beginning of the kernel
    int versions = 0;      // GPUs with a version
    BlockSet written_blocks;
    DeviceId last;            // where the last launch was
    std::vector<Part> parts;  // by GPU
  };

  // What a policy asks about: refused where there is no such client or GPU.
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
  // Of those that have a part of their own, the ones that are not there.
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
