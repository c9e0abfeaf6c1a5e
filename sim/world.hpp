// The simulated world: discrete events on one or several GPUs. Exact definitions: sim/README.md;
// sim/memory/README.md for memory and split kernels; sim/blocks/README.md for a GPU shared with native
// clients. The automaton (models/run/job_automaton.hpp) decides what happens to jobs and launches; this file
// decides when.
#pragma once

#include <optional>
#include <vector>

#include "models/run/job_automaton.hpp"
#include "sim/blocks/shared_device.hpp"
#include "sim/copy_engines.hpp"
#include "sim/event_world.hpp"
#include "sim/gpu.hpp"
#include "sim/host_threads.hpp"
#include "sim/memory/moves.hpp"

namespace gangway {

class SimulatedWorld final : public EventWorld, private JobStage, private DeviceHost, private MoveHost {
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
    kMerged,
    kIdle
  };

  // --- Orders of the policy
  LaunchId launch(JobId job, DeviceId device, std::optional<BlockRange> range) override;
  void evict(LaunchId launch) override { jobs_.evict(launch, now_); }
  void restore(JobId job, DeviceId device, BlockRange blocks) override;
  void save(JobId job, DeviceId device) override;
  void check_move(JobId job, DeviceId device, const char* order) const;

  // --- Requests of jobs and launches
  void note_record(const Record& record) override { note(record); }
  void tell_fact(const Fact& fact) override { tell(fact); }
  [[noreturn]] void stop_run(const std::string& what) const override { stop(what); }
  [[noreturn]] void refuse_order(const std::string& what) const override { impossible(what); }
  void release_at(ClientId client, Time due) override { push(due, kRelease, client.index); }
  void resume_at(ClientId client, Time time) override { push(time, kHostFree, client.index); }
  void idle_at(DeviceId gpu, Time time) override { push(time, kIdle, gpu.index); }
  bool copy_in(JobId job) override;
  bool copy_out(JobId job) override;
  void place(const Launch& launch) override;
  void displace(const Launch& launch) override;
  bool released_to_device(JobId job) override;
  Duration host_gap(const ClientRun& client) const override {
    return client.gap() + delays_[client.id().index][client.kernel()].registration;
  }
  Time host_free_at(ClientId client, Time) const override { return hosts_.free(client); }
  bool holds_up(JobId job) override { return moves_memory_ && moves_.must_settle(job); }
  void begin_to_settle(ClientId client) override { moves_.settle(jobs_.client(client).job()); }
  void finishing(JobId job, bool late) override {
    if (moves_memory_) moves_.free(job, late, now_);
  }

  // --- Requests of memory moves
  void begin_move_after(Duration wait, std::uint32_t index) override {
    push(now_ + wait, kMoveBegins, index);
  }
  void end_move_after(Duration wait, std::uint32_t index) override { push(now_ + wait, kMoved, index); }
  void end_merge_after(Duration wait, ClientId client) override { push(now_ + wait, kMerged, client.index); }
  void memory_settled(ClientId client) override { jobs_.settled(client, now_); }
  void ask_for_copy(DeviceId gpu, CopyDirection direction, const CopyQueue::Copy& copy) override {
    copies_.ask(gpu, direction, copy, now_);
  }

  // --- Requests of a device shared with native clients
  LaunchId next_launch() override { return jobs_.next_launch(); }
  void ask_for_copy(CopyDirection direction, const CopyQueue::Copy& copy) override {
    ask_for_copy(DeviceId{0}, direction, copy);
  }
  void native_job_over(JobId job) override { jobs_.finished_on_device(job, now_); }
  void serve_copies() override { settle_copies(); }
  bool has_copies() const override { return copies_.changed(); }
  void launch_started() override { jobs_.began(DeviceId{0}, now_, true); }
  void launch_placed(std::int64_t running) override;
  void launch_gone() override { gone(0); }

  // --- Events
  void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) override;
  std::uint64_t play_instant() override;
  void over() override;
  bool nothing_but_a_wave();
  void handle(const EventQueue::Event& event);
  // The end of an instant's events: requests of the same time are served in client order.
  void settle() {
    if (device_)
      device_->settle(now_);
    else
      settle_copies();
  }
  void settle_copies();
  void copy_begun(const CopyQueue::Copy& copy, DeviceId gpu, CopyDirection direction);
  void copied(std::uint32_t index, std::uint64_t event);
  void started(std::uint32_t gpu);
  void last_block_ends(std::uint32_t gpu, std::uint64_t event);
  void gone(std::uint32_t gpu);
  void read_pending_work(std::uint32_t gpu);
  void report(std::uint32_t gpu);
  void flag_seen(std::uint64_t event);
  double drawn_for(const Launch& launch) const;
  bool copies(DeviceId gpu) const;  // whether it does, now
  // The additional time of a launch now, beside copies or after an idle time.
  Duration longer_launch(DeviceId gpu, const CommandDelays& delays) const;
  void share_device(bool all_native);
  bool is_native(ClientId client) const { return device_ && device_->is_native(client); }

  RunSeed seed_;
  std::vector<Time> idle_since_;  // by GPU: the latest end of a launch or copy
  std::vector<bool> reads_wait_;  // by GPU: its report comes when the copy to the host is over
  std::vector<std::vector<CommandDelays>> delays_;  // by client and kernel
  HostThreads hosts_;
  std::vector<Gpu> gpus_;
  std::vector<std::uint64_t> gone_events_;  // by GPU: the event that ends the launch; others are outdated
  std::vector<DeviceId> copies_in_on_,
      ran_on_;  // by client: where its jobs are copied to; where its last launch was
  CopyEngines copies_;
  bool all_native_ = false;
  std::optional<SharedDevice> device_;  // only with native clients
  MemoryMoves moves_;
  bool moves_memory_ = false;
  JobAutomaton jobs_;
};

}  // namespace gangway
