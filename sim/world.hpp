// The simulated world: discrete events on one GPU. sim/README.md is its exact definition.
#pragma once

#include <array>
#include <vector>

#include "models/run/client_run.hpp"
#include "models/run/history.hpp"
#include "models/run/job_book.hpp"
#include "models/world.hpp"
#include "sim/access_gate.hpp"
#include "sim/copy_engine.hpp"
#include "sim/event_queue.hpp"
#include "sim/gpu.hpp"

namespace gangway {

class SimulatedWorld : public World, private Orders {
 public:
  explicit SimulatedWorld(const WorldSetup& setup);
  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override;

 private:
  enum Kind : std::uint32_t { kRelease, kCopied, kStart, kGone, kReport, kTimer, kKinds };

  LaunchId launch(JobId job, DeviceId device, BlockRange range) override;
  void evict(LaunchId launch) override;
  void kill(ClientId client) override;
  void restore(JobId job, DeviceId device) override { move(job, device, Direction::restore); }
  void save(JobId job, DeviceId device) override { move(job, device, Direction::save); }
  void access(ClientId client, Access access) override;
  void admit(RequestId request) override;
  void drain(ClientId client) override;
  void sample(ClientId client, Duration span, std::int64_t requests) override;
  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;

  void reset(const RunSeed& seed, std::span<const std::uint32_t> order);
  std::uint64_t play_instant();  // returns the number of events
  void handle(const EventQueue::Event& event);
  // The end of an instant's events: what was asked for at the same time is served in client order.
  void settle() {
    if (copies_changed_ || by_access_) settle_queues();
  }
  void settle_queues();
  void tell_and_decide();

  void release(ClientId client);
  void begin_job(ClientRun& client);
  void eligible(ClientRun& client);
  void ask_for_copy(Direction direction, const CopyQueue::Copy& copy);
  void copied(Direction direction);
  void started();
  void gone(std::uint64_t sequence);
  void report();
  void finish_job(ClientRun& client);
  void begin_launch(const RunningKernel& kernel, BlockRange range);
  void move(JobId job, DeviceId device, Direction direction);
  void check_device(DeviceId device, const char* order) const;

  std::uint64_t push(Time time, Kind kind, std::uint32_t index = 0);
  void note(const Record& record);
  void tell(const Fact& fact) { facts_.push_back(fact); }
  [[noreturn]] void impossible(const std::string& what) const;  // the policy's fault
  [[noreturn]] void stop(const std::string& what) const;        // RunError with the history

  WorldSetup setup_;
  JobBook book_;
  std::vector<ClientRun> clients_;
  std::vector<std::vector<CommandDelays>> delays_;  // by client and kernel
  std::vector<std::int64_t> standalone_;
  EventQueue queue_;
  Gpu gpu_;
  std::uint64_t gone_event_ =
      0;  // the sequence number of the event that ends the stay; others are out of date
  std::array<CopyQueue, 2> copies_;  // by Direction
  bool copies_changed_ = false;      // since the last settling
  AccessGate gate_;
  std::vector<std::uint64_t> timers_;  // by slot: the timer's event, 0 when free
  std::vector<std::uint32_t> free_timers_;
  std::vector<Fact> facts_;
  Time now_;
  std::uint64_t launches_ = 0;
  std::uint32_t fruitless_ = 0;  // launches in a row that did no block-task
  Policy* policy_ = nullptr;
  bool by_access_ = false;
  TraceSink* trace_ = nullptr;
  History history_;
};

}  // namespace gangway
