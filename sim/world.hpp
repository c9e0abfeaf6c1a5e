// The simulated world: discrete events on one GPU, or on several whose memory a policy moves. sim/README.md
// is its exact definition, sim/memory/README.md that of memory and of several GPUs, and sim/blocks/README.md
// that of a GPU that native clients use as well.
#pragma once

#include <optional>
#include <vector>

#include "models/run/client_run.hpp"
#include "sim/blocks/shared_device.hpp"
#include "sim/copy_engines.hpp"
#include "sim/event_world.hpp"
#include "sim/gpu.hpp"
#include "sim/host_threads.hpp"
#include "sim/memory/device_memory.hpp"

namespace gangway {

class SimulatedWorld : public EventWorld, private DeviceHost {
 public:
  explicit SimulatedWorld(const WorldSetup& setup);

 private:
  enum Kind : std::uint32_t {
    kRelease = kTimer + 1,
    kCopied,
    kStart,
    kGone,
    kReport,
    kBlocks,
    kFlagSeen,
    kLook,
    kHostFree,
    kMoveBegins,
    kMoved,
    kMerged
  };

  LaunchId launch(JobId job, DeviceId device, BlockRange range) override;
  void evict(LaunchId launch) override;
  void restore(JobId job, DeviceId device, BlockRange blocks) override;
  void save(JobId job, DeviceId device) override;

  LaunchId next_launch() override { return {++launches_}; }
  void ask_for_copy(Direction direction, const CopyQueue::Copy& copy) override {
    ask_for_copy(DeviceId{0}, direction, copy);
  }
  void ask_for_copy(DeviceId gpu, Direction direction, const CopyQueue::Copy& copy) {
    copies_.ask(gpu, direction, copy, now_);
  }
  void native_job_over(JobId job) override;
  void serve_copies() override { settle_copies(); }
  bool has_copies() const override { return copies_.changed(); }
  void launch_started() override { tell(Started{gpus_[0].stay().launch, gpus_[0].stay().kernel.job}); }
  void launch_placed(std::int64_t running) override;
  void launch_gone() override { end_stay(0); }

  void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) override;
  std::uint64_t play_instant() override;
  void over() override;
  bool nothing_but_a_wave();
  void handle(const EventQueue::Event& event);
  // The end of an instant's events: what was asked for at the same time is served in client order.
  void settle() {
    if (device_)
      device_->settle(now_);
    else
      settle_copies();
  }
  void settle_copies();
  void copy_begun(const CopyQueue::Copy& copy, DeviceId gpu, Direction direction);
  bool is_native(ClientId client) const { return device_ && device_->is_native(client); }

  void release(ClientId client);
  void begin_job(ClientRun& client);
  void eligible(ClientRun& client, bool arrives);
  void begin_kernels(ClientRun& client);
  void copied(std::uint32_t index, std::uint64_t event);
  void started(std::uint32_t gpu);
  void gone(std::uint32_t gpu, std::uint64_t sequence);
  void end_stay(std::uint32_t gpu);
  void report(std::uint32_t gpu);
  // Before the client's next kernel is eligible.
  Duration host_gap(const ClientRun& client) const {
    return client.gap() + delays_[client.id().index][client.kernel()].registration;
  }
  Time free_host(const ClientRun& client) const;
  void go_on(ClientRun& client, bool late);
  void finish_job(ClientRun& client, bool late);
  Duration host_wait(const RunningKernel& kernel);
  const Gpu::Stay& begin_launch(const RunningKernel& kernel, DeviceId gpu, BlockRange range);
  // On a device that native clients use, too.
  void share_device(bool all_native);
  void flag_seen(std::uint64_t sequence);
  // Memory that a policy moves (sim/memory/moves.cpp).
  struct Move {
    JobId job;
    Bytes size;
  };
  struct MovedState {       // of a client's job
    int moves = 0;          // under way
    bool leaving = false;   // its last kernel is over
    bool settling = false;  // a kernel is over, but moves or a merge hold up the program
    bool merging = false;
    int copies = 0;  // for the merge, or of the outputs
  };
  void check_move(JobId job, DeviceId device, const char* order) const;
  void begin_move(JobId job, DeviceId gpu, Direction direction, Bytes size, Duration wait);
  void copy_state(std::uint32_t index);
  void move_copied(JobId job, DeviceId gpu, Direction direction, Bytes size);
  void moved(std::uint32_t index);
  void launch_uses(JobId job, DeviceId gpu, BlockRange blocks);
  // A kernel is over. Whether the program has to wait for memory; then settle_memory() makes it go on in
  // time.
  bool must_settle(JobId job);
  void settle_memory(ClientId client);
  void merge_copied(ClientId client);
  void merge(ClientId client);
  void merged(ClientId client);
  void settled(ClientId client);
  // Returns whether there are any to wait for.
  bool copy_outputs(JobId job);
  void free_memory(JobId job, bool late);
  void note_memory(JobId job, DeviceId gpu);
  // Of a move, by client, GPU and direction.
  std::uint32_t move_index(JobId job, DeviceId gpu, Direction direction) const {
    const std::uint32_t place = job.client.index * gpu_count() + gpu.index;
    return place << 1 | static_cast<std::uint32_t>(direction);
  }
  DeviceId gpu_of_move(std::uint32_t index) const { return {(index >> 1) % gpu_count()}; }
  std::uint32_t gpu_count() const { return static_cast<std::uint32_t>(gpus_.size()); }
  void check_device(DeviceId device, const char* order) const;

  std::vector<ClientRun> clients_;
  std::vector<std::vector<CommandDelays>> delays_;  // by client and kernel
  HostThreads hosts_;
  std::vector<Gpu> gpus_;
  std::vector<std::uint64_t> gone_events_;  // by GPU: the event that ends the stay; others are out of date
  CopyEngines copies_;
  bool all_native_ = false;
  std::optional<SharedDevice> device_;  // only where there are native clients
  DeviceMemory memory_;
  MoveDelays move_delays_;
  std::vector<Move> moving_;        // by move_index() without direction
  std::vector<MovedState> states_;  // by client
  bool moves_memory_ = false;
  std::uint64_t launches_ = 0;
  std::uint32_t fruitless_ = 0;  // launches in a row that did no block-task
  std::uint32_t moves_ = 0;      // saves and restores since one was done
};

}  // namespace gangway
