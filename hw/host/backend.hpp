// CPU cores as a device: persistent worker threads are the persistent blocks, and the mechanism is a store to
// shared memory. The same State/TaskId protocol as on a GPU, so the real-time path is exercised anywhere.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "hw/backend.hpp"
#include "hw/clock.hpp"
#include "hw/problem.hpp"
#include "hw/protocol.hpp"

namespace gangway {

class HostBackend : public Backend {
 public:
  // `workers` >= 1 threads; every launch has as many persistent blocks. Kernels without code throttle for as
  // long as the workload says, and every kernel's inputs are drawn from the seed.
  HostBackend(const Workload& workload, unsigned workers, std::uint64_t seed = 1);
  ~HostBackend() override;

  // One for every core but the scheduler's; at least one.
  static unsigned usual_workers();

  void launch(KernelIndex kernel, BlockRange range) override;
  void evict() override;
  bool started() override;
  bool gone() override;
  std::optional<HostClock::Instant> began() override;
  std::optional<HostClock::Instant> ended() override { return gone_at_; }
  void ask_pending_work() override {}
  std::optional<BlockCount> pending_work() override;
  void copy(Direction direction, Bytes size) override;
  bool copied(Direction direction) override;
  void relax() override;
  Duration warm_up() const override { return {}; }
  std::string fault() override { return {}; }
  bool settle(Duration limit) override;
  void launch_original(KernelIndex kernel) override;
  void observe(bool on) override;
  Observed observed() override;
  Duration device_time() override;
  std::int64_t blocks(KernelIndex) const override { return workers_; }
  void poison(KernelIndex kernel) override { problem(kernel).poison(); }
  std::string difference(KernelIndex kernel) override { return problem(kernel).difference(); }

 private:
  // What workers see of a launch; written while none is under way.
  struct Order {
    LaunchTask task;
    HostProblem* problem = nullptr;
    std::size_t kernel = 0;  // index into observed counts
    bool original = false, observe = false;
    bool quit = false;
  };
  // What one worker saw of it.
  struct alignas(64) Seen {
    std::vector<Duration> lengths;
    std::vector<std::uint32_t> done;
    HostClock::Instant first, last;
  };
  // Copies are made by a thread of their own in each direction.
  class CopyThread {
   public:
    CopyThread();
    ~CopyThread();
    void ask(Bytes size);
    void abandon() { abandoned_.store(true, std::memory_order_relaxed); }  // what is left of it is not copied
    bool done() const {
      return asked_.load(std::memory_order_relaxed) == done_.load(std::memory_order_acquire);
    }

   private:
    void work();
    std::int64_t size_ = 0;
    std::atomic<std::uint32_t> asked_ = 0, done_ = 0;
    std::atomic<bool> abandoned_ = false;
    bool quit_ = false;
    std::vector<char> from_, to_;
    std::thread thread_;
  };

  HostProblem& problem(KernelIndex kernel) const { return *problems_[at(kernel)]; }
  std::size_t at(KernelIndex kernel) const { return first_kernel_[kernel.client] + kernel.kernel; }
  void order(KernelIndex kernel, BlockRange range, bool original);
  void work(unsigned worker);
  void persist(unsigned worker, const Order& order);
  void carry_out(const Order& order, Seen& seen, std::uint32_t index);

  unsigned workers_;
  bool crowded_;  // more threads than cores
  std::vector<std::size_t> first_kernel_;
  std::vector<std::unique_ptr<HostProblem>> problems_;
  std::vector<std::uint32_t> block_tasks_;
  std::vector<std::vector<std::uint32_t>> counts_;
  bool observe_ = false;

  Order order_;
  std::uint32_t launches_ = 0;
  std::uint32_t flagged_ = 0;  // the control word's high half
  std::atomic<ControlWord> word_ = 0;
  std::atomic<std::uint32_t> posted_ = 0;   // the launch that workers shall carry out
  std::atomic<std::uint32_t> started_ = 0;  // the last launch of which a block-task began
  std::atomic<std::int64_t> began_at_ = 0;  // when that was, in ns; 0: none has begun
  std::atomic<std::uint32_t> left_ = 0;     // workers that left it
  std::atomic<std::uint32_t> gone_ = 0;     // the last launch that every worker left
  HostClock::Instant gone_at_;              // when the last of them did
  std::uint32_t done_ = 0;                  // block-tasks of its kernel in all
  std::vector<Seen> seen_;
  CopyThread copies_[2];
  std::vector<std::thread> threads_;
};

}  // namespace gangway
