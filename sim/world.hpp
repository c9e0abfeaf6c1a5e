// The simulated world: discrete events on one GPU. sim/README.md is its exact definition, and
// sim/blocks/README.md that of a GPU that native clients use as well.
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
    kMoved
  };

  LaunchId launch(JobId job, DeviceId device, BlockRange range) override;
  void evict(LaunchId launch) override;
  void restore(JobId job, DeviceId device) override { move(job, device, Direction::restore); }
  void save(JobId job, DeviceId device) override { move(job, device, Direction::save); }

  LaunchId next_launch() override { return {++launches_}; }
  void ask_for_copy(Direction direction, const CopyQueue::Copy& copy) override;
  void native_job_over(JobId job) override;
  void serve_copies() override { settle_copies(); }
  bool has_copies() const override { return copies_.changed(); }
  void launch_started() override;
  void launch_placed(std::int64_t running) override;
  void launch_gone() override;

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
  void copy_begun(const CopyQueue::Copy& copy, Direction direction);
  bool is_native(ClientId client) const { return device_ && device_->is_native(client); }

  void release(ClientId client);
  void begin_job(ClientRun& client);
  void eligible(ClientRun& client, bool arrives);
  void begin_kernels(ClientRun& client);
  void copied(std::uint32_t index, std::uint64_t event);
  void started();
  void gone(std::uint64_t sequence);
  void report();
  // Before the client's next kernel is eligible.
  Duration host_gap(const ClientRun& client) const {
    return client.gap() + delays_[client.id().index][client.kernel()].registration;
  }
  void go_on(ClientRun& client, bool late);
  void finish_job(ClientRun& client, bool late);
  Duration host_wait(const RunningKernel& kernel);
  void begin_launch(const RunningKernel& kernel, BlockRange range);
  // On a device that native clients use, too.
  void share_device(bool all_native);
  void flag_seen(std::uint64_t sequence);
  // Memory that a policy moves.
  void move(JobId job, DeviceId device, Direction direction);
  void copy_state(JobId job, Direction direction);
  void move_copied(JobId job, Direction direction);
  void moved(JobId job, Direction direction);
  void free_memory(JobId job, bool late);
  void note_memory(JobId job);
  static std::uint32_t move_index(JobId job, Direction direction) {
    return job.client.index << 1 | static_cast<std::uint32_t>(direction);
  }
  void check_device(DeviceId device, const char* order) const;

  std::vector<ClientRun> clients_;
  std::vector<std::vector<CommandDelays>> delays_;  // by client and kernel
  HostThreads hosts_;
  Gpu gpu_;
  std::uint64_t gone_event_ =
      0;  // the sequence number of the event that ends the stay; others are out of date
  CopyEngines copies_;
  bool all_native_ = false;
  std::optional<SharedDevice> device_;  // only where there are native clients
  DeviceMemory memory_;
  MoveDelays move_delays_;
  std::vector<Bytes> moving_;  // by client, what its move under way copies
  bool moves_memory_ = false;
  std::uint64_t launches_ = 0;
  std::uint32_t fruitless_ = 0;  // launches in a row that did no block-task
};

}  // namespace gangway
