// Common to the real halves of EffiSha's mechanisms (Chen et al., 6.2 and 6.3): the scheduler writes a word
// of its own memory, which blocks poll, and progress is available without a command.
#pragma once

#include <algorithm>

#include "hw/mechanisms/real_mechanism.hpp"
#ifdef __CUDACC__
#include "hw/cuda/session.cuh"
#endif

namespace gangway {

#ifdef __CUDACC__

// On a GPU: the order, if any, is a store; the last block has written the number of finished block-tasks to
// mapped memory.
class StoreMechanism : public CudaMechanism {
 public:
  void evict(preemptible::Session& session) override { session.evict(); }
  void ask_pending_work(const preemptible::Session&) override {}
  std::optional<std::uint32_t> pending_work(const preemptible::Session& session) override {
    return session.done();
  }
};

#else

class StoreMechanism;

#endif

// Launches with a proxy in place of one block. `Base`: HostMechanism or StoreMechanism.
template <typename Base>
class ProxyHalf : public Base {
 public:
  std::uint32_t least_room() const override { return 2; }
  std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const override {
    return std::min(std::max(room, least_room()) - 1, block_tasks) + 1;
  }
  PollingForm polling() const override { return PollingForm::proxy; }
};

// Launches of the original kernel's blocks, which cannot be evicted.
template <typename Base>
class SlicedHalf : public Base {
 public:
  PollingForm polling() const override { return PollingForm::none; }
};

}  // namespace gangway
