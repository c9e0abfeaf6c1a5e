// Common to all simulated worlds: a clock that jumps from event to event, and a policy that is told the facts
// of an instant and then decides.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/random.hpp"
#include "models/run/client_run.hpp"
#include "models/run/grants.hpp"
#include "models/run/job_book.hpp"
#include "models/run/policy_guard.hpp"
#include "models/run/refusing_orders.hpp"
#include "models/world.hpp"
#include "sim/event_queue.hpp"
#include "sim/journal.hpp"
#include "sim/timers.hpp"

namespace gangway {

class EventWorld : public World, protected RefusingOrders {
 public:
  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) final;

 protected:
  // An event id has the kind in its lowest bits and an index above. kTimer is common to all worlds.
  static constexpr unsigned kKindBits = 4;
  static constexpr std::uint32_t kTimer = 0;
  static std::uint32_t kind_of(const EventQueue::Event& event) { return event.id & ((1u << kKindBits) - 1); }
  static std::uint32_t index_of(const EventQueue::Event& event) { return event.id >> kKindBits; }
  // Single delays are at most 10^18 ns, so sums below this do not overflow.
  static constexpr Time kEndOfClock{4'000'000'000'000'000'000};
  // Each takes memory, and a client that falls behind without end would take all.
  static constexpr std::int64_t kMostOpenJobs = 50'000'000;

  // What the setup refers to must outlive the world.
  explicit EventWorld(const WorldSetup& setup);

  // A run begins. The queue is empty.
  virtual void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) = 0;
  // Plays the whole instant. Returns the number of events.
  virtual std::uint64_t play_instant() = 0;
  // The horizon is reached, or no events remain.
  virtual void over() {}

  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;

  // Returns the event's sequence number.
  std::uint64_t push(Time time, std::uint32_t kind, std::uint32_t index = 0);
  bool more_now() const { return !queue_.empty() && queue_.next_time() == now_; }
  void timer_due(const EventQueue::Event& event) {
    --timer_events_;
    if (const auto timer = timers_.due(index_of(event), event.sequence)) tell(Timer{*timer});
  }
  // Counts a round within one instant, to stop a policy that asks for zero delays forever.
  void count_round(int& rounds) const;
  void note(const Record& record) {
    if (record.mark == Mark::released) released(record);
    if (record.mark == Mark::finished || record.mark == Mark::killed || record.mark == Mark::refused)
      job_over(record.job);
    journal_.note(record);
  }
  // Records the release of the client's latest job.
  void note_release(const ClientRun& client);
  void tell(const Fact& fact) { facts_.push_back(fact); }
  bool nothing_to_tell() const { return facts_.empty(); }
  void tell_and_decide();

  [[noreturn]] void impossible(const std::string& what) const override;  // an invalid order of the policy
  [[noreturn]] void stop(const std::string& what) const;                 // RunError with the history
  [[noreturn]] void refuse_backlog(const Record& release) const;

  WorldSetup setup_;
  std::vector<Duration> standalone_;  // by client
  JobBook book_;
  // Of whole jobs, or to recorded programs: what the policy sees instead of the book, if it is given grants.
  std::optional<Grants> grants_;
  bool sees_grants_ = true;
  EventQueue queue_;
  Time now_;
  Journal journal_;

 private:
  // Which of a client's jobs are over: all before `first`, and some behind it.
  struct ClientJobs {
    std::uint32_t released = 0, first = 0;
    std::set<std::uint32_t> over;  // behind the first
  };
  void released(const Record& release) {
    if (++open_jobs_ > kMostOpenJobs) refuse_backlog(release);
    ++open_[release.job.client.index].released;
  }
  void job_over(JobId job);
  // Jobs that nothing can end any more would look better than any that ends late: a run that has no horizon,
  // at which they have an age, fails.
  void check_all_over() const;
  // Whether only a policy's timers remain and nothing else can happen.
  bool only_timers();
  std::string story(const std::string& what) const;
  const View& view() const { return grants_ && sees_grants_ ? static_cast<const View&>(*grants_) : book_; }

  PolicyGuard guard_;
  Timers timers_;
  std::vector<Fact> facts_, delivering_;
  std::size_t timer_events_ = 0;           // in the queue, including cancelled timers
  std::int64_t open_jobs_ = 0;             // of all clients
  std::vector<ClientJobs> open_;           // by client
  std::uint32_t timer_only_instants_ = 0;  // consecutive instants with only timers ahead
};

}  // namespace gangway
