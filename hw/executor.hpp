// The real-time executor: one thread plays a workload under a policy on a real device. It polls clock and
// device without blocking, tells the policy what it sees and carries out its orders at once. hw/README.md
// says what is measured when.
#pragma once

#include <memory>
#include <vector>

#include "hw/backend.hpp"
#include "hw/clock.hpp"
#include "models/run/client_run.hpp"
#include "models/run/history.hpp"
#include "models/run/job_book.hpp"
#include "models/run/refusing_orders.hpp"
#include "models/world.hpp"

namespace gangway {

class RealTimeWorld : public World, private RefusingOrders {
 public:
  static constexpr Capabilities kCapabilities{Capability::evict, Capability::ranges};

  // The setup, if real worlds can play it: InputError for kernels of more block-tasks than the protocol
  // counts. For before a backend is made, which may allocate for them.
  static const WorldSetup& checked(const WorldSetup& setup);

  RealTimeWorld(const WorldSetup& setup, std::unique_ptr<Backend> backend);

  // From the first release on, nothing is allocated and no lock is taken unless the trace outgrows
  // kKeptRecords. Records are passed on when there is no room left and at the end.
  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override;

  static constexpr std::size_t kKeptRecords = 1 << 16;

 private:
  struct Stay {
    LaunchId launch;
    RunningKernel kernel;
    BlockRange range;
    Time ordered;
    enum Phase { free, launched, started, gone } phase = free;
    Time evict_ordered;
    bool evicting = false;
  };
  struct Copy {
    JobId job;
    Bytes size;
  };
  struct Engine {
    std::vector<Copy> waiting;  // in the order of asking; the first is under way when `busy`
    bool busy = false;
    Time began;
  };
  struct Alarm {
    Time time;
    TimerId id;
  };

  LaunchId launch(JobId job, DeviceId device, BlockRange range) override;
  void evict(LaunchId launch) override;
  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;

  void reset(const RunSeed& seed, std::span<const std::uint32_t> order);
  void warm_up();  // before the first run: keeps the device busy with all kernels in turn
  void play();
  void release_due();
  void fire_due();
  void poll_device();
  void poll_copies();
  void tell_and_decide();
  void look_after();  // what need not be done in every turn
  bool idle() const;
  void abandon() noexcept;  // gets the device free again after a failure
  void flush();

  void begin_job(ClientRun& client);
  void eligible(ClientRun& client);
  void copied(Direction direction);
  void report(BlockCount done);
  void finish_job(ClientRun& client);
  void ask_for_copy(Direction direction, const Copy& copy);
  void begin_copy(Direction direction);
  void schedule(ClientId client, std::optional<Time> release);
  Engine& engine(Direction direction) { return engines_[direction == Direction::restore ? 0 : 1]; }

  Time clock() const { return Time{} + (HostClock::now() - origin_); }
  void note(Record record);
  void tell(const Fact& fact) { facts_.push_back(fact); }
  const std::string& name(ClientId client) const { return setup_.workload.clients[client.index].name; }
  [[noreturn]] void impossible(const std::string& what) const override;
  [[noreturn]] void stop(const std::string& what) const;

  WorldSetup setup_;
  std::unique_ptr<Backend> backend_;
  JobBook book_;
  std::vector<ClientRun> clients_;
  std::vector<std::int64_t> standalone_;
  std::vector<Time> releases_;  // by client: the next one, Time::max() when none is known
  Time next_release_;
  std::vector<std::uint32_t> released_;  // clients that may begin a job
  Engine engines_[2];
  Stay stay_;
  std::vector<Alarm> alarms_;
  Time next_alarm_;
  std::vector<Fact> facts_;
  std::vector<Record> records_;  // not passed on yet
  History history_;
  HostClock::Instant origin_;
  Time now_;  // of the instant being played
  Time looked_after_;
  std::uint64_t launches_ = 0, timers_ = 0, events_ = 0;
  std::uint32_t fruitless_ = 0;  // launches in a row that did no block-task
  std::int64_t active_jobs_ = 0;
  bool stopped_ = false;
  bool warm_ = false;
  Policy* policy_ = nullptr;
  TraceSink* trace_ = nullptr;
};

}  // namespace gangway
