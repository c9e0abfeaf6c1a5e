#include "sim/event_world.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

constexpr int kMostRounds = 100'000;
constexpr std::uint64_t kInstantsPerLook = 4096;  // whether anybody wants the rest of the run

}  // namespace

EventWorld::EventWorld(const WorldSetup& setup) : setup_(setup), book_(setup_) {
  for (const Client& client : setup_.workload.clients) standalone_.push_back(standalone_of(setup_, client));
}

std::uint64_t EventWorld::run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                              TraceSink& trace) {
  policy_ = &policy;
  journal_.begin(trace);
  queue_.clear();
  book_.reset();
  timers_.reset();
  facts_.clear();
  now_ = {};
  reset(policy, seed, order);
  policy.seed({seed.seed, "policy", {seed.replication, seed.permutation}});
  policy.decide(now_, book_, *this);  // before anything happens
  std::uint64_t events = 0, instants = 0;
  while (!queue_.empty() && queue_.next_time() <= setup_.horizon) {
    now_ = queue_.next_time();
    events += play_instant();
    if (++instants % kInstantsPerLook == 0 && trace.stopped()) break;
  }
  now_ = queue_.empty() ? now_ : setup_.horizon;
  over();
  note({.time = now_, .mark = Mark::ended});
  return events;
}

std::uint64_t EventWorld::push(Time time, std::uint32_t kind, std::uint32_t index) {
  if (time > kEndOfClock)
    stop("something would happen more than 126 years after the start, beyond the clock");
  return queue_.push(time, kind | (index << kKindBits));
}

TimerId EventWorld::wake_at(Time time) {
  if (time < now_) impossible(fmt::format("a timer at {} ns, in the past", time.ns));
  return timers_.set([&](std::uint32_t slot) { return push(time, kTimer, slot); });
}

void EventWorld::note_release(const ClientRun& client) {
  note({.time = now_,
        .amount = standalone_[client.id().index].ns,
        .job = client.last_released(),
        .priority = client.priority_of(client.last_released()),
        .mark = Mark::released});
}

void EventWorld::count_round(int& rounds) const {
  if (++rounds > kMostRounds) impossible("the same instant over and over");
}

void EventWorld::tell_and_decide() {
  if (facts_.size() > 1) sort_for_telling(facts_);
  for (const Fact& fact : facts_) policy_->note(now_, fact, book_);
  facts_.clear();
  policy_->decide(now_, book_, *this);
}

void EventWorld::impossible(const std::string& what) const { stop("the policy ordered " + what); }

void EventWorld::stop(const std::string& what) const {
  throw RunError(journal_.history().text(now_, what, setup_.workload));
}

}  // namespace gangway
