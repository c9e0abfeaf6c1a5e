// CPU cores as persistent blocks: worker threads that carry out launches by the State/TaskId protocol, like
// blocks of a GPU.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "hw/clock.hpp"
#include "hw/host/host_memory.hpp"
#include "hw/protocol.hpp"
#include "hw/real_device.hpp"

namespace gangway {

class HostWorkers : public DeviceLaunches, public DeviceProbes {
 public:
  // `workers` >= 1 threads, each one persistent block. The mechanism decides how many a launch has. Memory
  // and mechanism must outlive this object.
  HostWorkers(const HostMemory& memory, const HostMechanism& mechanism, unsigned workers);
  ~HostWorkers() override;

  void launch(KernelIndex kernel, BlockRange range) override;
  void evict() override;
  bool started() override;
  bool gone() override;
  std::optional<HostClock::Instant> began() override;
  std::optional<HostClock::Instant> ended() override { return gone_at_; }
  void ask_pending_work() override {}
  std::optional<BlockCount> pending_work() override { return BlockCount{done_}; }

  void launch_original(KernelIndex kernel) override;
  void observe(bool on) override;
  Observed observed() override;
  Duration device_time() override;
  std::int64_t blocks(KernelIndex kernel) const override;

  bool crowded() const { return crowded_; }  // at least as many workers as cores

 private:
  // The current launch as workers see it; written while none is under way.
  struct Order {
    LaunchTask task;
    HostProblem* problem = nullptr;
    std::size_t kernel = 0;  // index into observed counts
    PollingForm polling = PollingForm::claim;
    std::uint64_t look_interval = 0;  // ns
    bool observe = false;
    bool quit = false;
  };
  // A worker's looks at the proxy's copy of the flag.
  struct Looks {
    HostClock::Instant from;  // when its first block-task began
    std::uint32_t claims = 0, look_at = 0;
  };
  // What one worker recorded of the launch.
  struct alignas(64) Seen {
    std::vector<Duration> lengths;
    std::vector<std::uint32_t> done;
    HostClock::Instant first, last;
  };

  std::uint32_t persistent_blocks(std::uint32_t block_tasks) const;
  void order(KernelIndex kernel, BlockRange range, PollingForm polling);
  void work(unsigned worker);
  void persist(unsigned worker, const Order& order);
  void stand_in(const Order& order);
  Claim claim(const Order& order, Looks& looks);
  bool sees_order_to_leave(const Order& order, Looks& looks);
  void carry_out(const Order& order, Seen& seen, std::uint32_t index);

  const HostMemory& memory_;
  const HostMechanism& mechanism_;
  unsigned workers_;
  bool crowded_;
  std::vector<std::vector<std::uint32_t>> counts_;
  bool observe_ = false;

  Order order_;
  std::uint32_t launches_ = 0;
  std::uint32_t flagged_ = 0;  // the control word's high half
  std::atomic<ControlWord> word_ = 0;
  std::atomic<std::uint32_t> leaving_ = 0;  // the launch that must leave, if kept in a separate word
  std::atomic<std::uint32_t> copied_ = 0;   // the proxy's copy
  std::atomic<TaskSamples> samples_ = 0;    // of this launch
  std::atomic<std::uint32_t> posted_ = 0;   // the launch that workers must carry out
  std::atomic<std::uint32_t> started_ = 0;  // the last launch with a started block-task
  std::atomic<std::int64_t> began_at_ = 0;  // start of the first block-task, in ns; 0: none yet
  std::atomic<std::uint32_t> left_ = 0;     // workers that left it
  std::atomic<std::uint32_t> gone_ = 0;     // the last launch that every worker has left
  HostClock::Instant gone_at_;              // when the last worker left
  std::uint32_t done_ = 0;                  // finished block-tasks of its kernel in total
  std::vector<Seen> seen_;
  std::vector<std::thread> threads_;
};

}  // namespace gangway
