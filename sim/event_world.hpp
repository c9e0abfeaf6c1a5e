// What every simulated world is made of: a clock that jumps from event to event, and a policy that is told
// the facts of an instant and then decides.
#pragma once

#include <optional>
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
  // An event's kind stands in the lowest bits of its id, an index above. kTimer is the same everywhere.
  static constexpr unsigned kKindBits = 4;
  static constexpr std::uint32_t kTimer = 0;
  static std::uint32_t kind_of(const EventQueue::Event& event) { return event.id & ((1u << kKindBits) - 1); }
  static std::uint32_t index_of(const EventQueue::Event& event) { return event.id >> kKindBits; }
  // No single delay is above 10^18 ns, so no sum overflows below this.
  static constexpr Time kEndOfClock{4'000'000'000'000'000'000};

  // What the setup refers to must outlive the world.
  explicit EventWorld(const WorldSetup& setup);

  // The run begins: nothing has happened. The queue is empty.
  virtual void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) = 0;
  // All of this instant. Returns the number of events.
  virtual std::uint64_t play_instant() = 0;
  // The horizon is reached, or nothing is left to happen.
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
  // Another round of the same instant: a policy that asks for more than zero delays can chain never ends.
  void count_round(int& rounds) const;
  void note(const Record& record) {
    if (record.mark == Mark::released) ++open_jobs_;
    if (record.mark == Mark::finished || record.mark == Mark::killed || record.mark == Mark::refused)
      --open_jobs_;
    journal_.note(record);
  }
  // The client's latest job is released.
  void note_release(const ClientRun& client);
  void tell(const Fact& fact) { facts_.push_back(fact); }
  bool nothing_to_tell() const { return facts_.empty(); }
  void tell_and_decide();

  [[noreturn]] void impossible(const std::string& what) const override;  // the policy's fault
  [[noreturn]] void stop(const std::string& what) const;                 // RunError with the history

  WorldSetup setup_;
  JobBook book_;
  std::optional<Grants> grants_;  // where whole jobs are granted: what the policy sees instead of the book
  EventQueue queue_;
  Time now_;
  Journal journal_;

 private:
  // Whether a policy does nothing but wake itself up, and nothing else can happen any more.
  bool only_timers();
  std::string story(const std::string& what) const;
  const View& view() const { return grants_ ? static_cast<const View&>(*grants_) : book_; }

  std::vector<Duration> standalone_;  // by client
  PolicyGuard guard_;
  Timers timers_;
  std::vector<Fact> facts_, delivering_;
  std::size_t timer_events_ = 0;           // in the queue, those of timers that were cancelled included
  std::int64_t open_jobs_ = 0;             // released and not over
  std::uint32_t timer_only_instants_ = 0;  // instants in a row with nothing but timers ahead
};

}  // namespace gangway
