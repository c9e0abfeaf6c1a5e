// The real-time executor: one thread plays a workload under a policy on a real device. It polls clock and
// device without blocking, reports to the policy and carries out its orders at once. hw/README.md defines
// what is measured when.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hw/clock.hpp"
#include "hw/real_device.hpp"
#include "models/run/history.hpp"
#include "models/run/job_automaton.hpp"
#include "models/run/lateness.hpp"
#include "models/run/policy_guard.hpp"
#include "models/run/refusing_orders.hpp"
#include "models/world.hpp"

namespace gangway {

class RealTimeWorld final : public World, private RefusingOrders, private JobStage {
 public:
  static constexpr Capabilities kCapabilities{Capability::evict, Capability::ranges};

  // The workload must have passed check_kernels() (hw/real_time_refusals.hpp).
  RealTimeWorld(const WorldSetup& setup, std::unique_ptr<RealDevice> device,
                std::unique_ptr<SchedulerClock> clock = std::make_unique<SchedulerClock>());

  // From the first release on, nothing is allocated and no lock is taken unless the trace exceeds
  // kKeptRecords. Records are passed on when the buffer is full and at the end.
  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override;

  static constexpr std::size_t kKeptRecords = 1 << 16;

 private:
  struct Copy {
    JobId job;
    Bytes size;
  };
  struct Engine {
    std::vector<Copy> waiting;  // in order of request; the first is under way if `busy`
    bool busy = false;
    Time began;
  };
  struct Alarm {
    Time time;
    TimerId id;
  };
  // What one look at the device shows.
  struct Seen {
    bool started = false, gone = false;
    std::optional<BlockCount> done;
    bool copied[2] = {false, false};  // to the device, to the host

    bool nothing() const { return !started && !gone && !done && !copied[0] && !copied[1]; }
  };

  LaunchId launch(JobId job, DeviceId device, std::optional<BlockRange> range) override;
  void evict(LaunchId launch) override { jobs_.evict(launch, now_); }
  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;

  void reset(const RunSeed& seed, std::span<const std::uint32_t> order);
  void warm_up();  // before the first run: keeps the device busy with all kernels in turn
  void play();
  void release_due();
  void fire_due();
  Seen look();
  void handle(const Seen& seen);
  Time happened(std::optional<HostClock::Instant> at, Time otherwise);
  void order_records();
  void tell_and_decide();
  void look_after();  // periodic work that need not be done in every turn
  bool idle() const;
  void abandon() noexcept;  // frees the device after a failure
  void flush();

  // --- Requests of jobs and launches
  void note_record(const Record& record) override { note(record); }
  void tell_fact(const Fact& fact) override { facts_.push_back(fact); }
  [[noreturn]] void stop_run(const std::string& what) const override { stop(what); }
  [[noreturn]] void refuse_order(const std::string& what) const override { impossible(what); }
  void release_at(ClientId client, Time due) override { schedule(client, due); }
  bool copy_in(JobId job) override;
  bool copy_out(JobId job) override;
  void place(const Launch& launch) override;
  void displace(const Launch&) override { device_->launches().evict(); }
  void finishing(JobId, bool) override { --active_jobs_; }

  void copied(CopyDirection direction);
  bool ask_for_copy(CopyDirection direction, const Copy& copy);
  void begin_copy(CopyDirection direction);
  void schedule(ClientId client, Time release);
  Engine& engine(CopyDirection direction) { return engines_[direction == CopyDirection::to_device ? 0 : 1]; }

  Time since_origin(HostClock::Instant instant) const { return Time{} + (instant - origin_); }
  Time clock() const { return since_origin(clock_->now()); }
  std::string story(const std::string& what) const { return history_.text(now_, what, setup_.workload); }
  const View& view() const { return grants_ ? static_cast<const View&>(*grants_) : book_; }
  void note(const Record& record);
  const std::string& name(ClientId client) const { return setup_.workload.clients[client.index].name; }
  [[noreturn]] void impossible(const std::string& what) const override;
  [[noreturn]] void stop(const std::string& what) const;

  WorldSetup setup_;
  std::unique_ptr<RealDevice> device_;
  std::unique_ptr<SchedulerClock> clock_;
  JobBook book_;
  std::optional<Grants> grants_;  // with whole-job grants: what the policy sees instead of the book
  JobAutomaton jobs_;
  std::vector<Time> releases_;  // by client: next release, Time::max() if unknown
  Time next_release_;
  Engine engines_[2];
  Duration told_late_;  // lateness of the launch's start, noticed after later records were written
  std::vector<Alarm> alarms_;
  Time next_alarm_;
  std::vector<Fact> facts_, delivering_;
  std::vector<Record> records_;  // not passed on yet
  std::size_t ordered_ = 0;      // of these, sorted up to the previous instant
  History history_;
  HostClock::Instant origin_;
  Time now_;                     // of the instant being played
  Time before_, before_before_;  // of the two previous instants: what is seen now happened after the second
  Time noted_;                   // of the latest record before this instant
  Time looked_after_;
  Time stirred_;  // last event that was not a timer
  Lateness lateness_;
  std::uint64_t timers_ = 0, events_ = 0;
  std::int64_t active_jobs_ = 0;
  bool stopped_ = false;
  bool warm_ = false;
  PolicyGuard guard_;
  TraceSink* trace_ = nullptr;
};

}  // namespace gangway
