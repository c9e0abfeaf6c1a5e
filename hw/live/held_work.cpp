#include "hw/live/held_work.hpp"

#include <algorithm>
#include <utility>

namespace gangway::live {
namespace {

constexpr std::uint64_t kOfAForm = 2;   // places of a launch besides the kernel's: an event, and the wait
constexpr int kMostStreamsInARow = 64;  // that wait for one another: a circle is none

}  // namespace

bool HeldWork::over(const Position& position) const {
  const auto found = streams_.find(position.stream);
  return found == streams_.end() || found->second.barriers.empty() ||
         found->second.barriers.front().number > position.barrier;
}

bool HeldWork::over(StreamId stream, const Barrier& barrier) const {
  if (barrier.launch != 0) return ask_.launch(stream, barrier.launch) == LaunchIs::over;
  return std::all_of(barrier.awaited.begin(), barrier.awaited.end(),
                     [this](const Position& position) { return over(position); });
}

// Takes away what is over; that one barrier is can make others be.
void HeldWork::prune() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [id, held] : streams_)
      while (!held.barriers.empty() && over(id, held.barriers.front())) {
        if (held.barriers.front().mark != nullptr) ask_.no_longer(held.barriers.front().mark);
        held.barriers.pop_front();
        changed = true;
      }
  }
  std::erase_if(streams_, [this](const auto& one) {
    if (!one.second.forgotten || !one.second.barriers.empty()) return false;
    ask_.gone(one.first);
    return true;
  });
}

void HeldWork::launched(StreamId stream, std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  Held& held = streams_[stream];
  held.barriers.push_back({++held.barriers_so_far, held.places, number, nullptr, {}});
  held.places += kOfAForm;
}

bool HeldWork::waits_already(const Held& held, const Position& position) {
  return std::any_of(held.barriers.begin(), held.barriers.end(), [&](const Barrier& barrier) {
    return std::any_of(barrier.awaited.begin(), barrier.awaited.end(), [&](const Position& known) {
      return known.stream == position.stream && known.barrier == position.barrier;
    });
  });
}

void HeldWork::add_wait(StreamId stream, std::vector<Position> awaited, Mark mark) {
  Held& held = streams_[stream];
  held.barriers.push_back({++held.barriers_so_far, held.places, 0, mark, std::move(awaited)});
}

// What legacy and blocking streams wait for by themselves.
std::vector<HeldWork::Position> HeldWork::waited_for(StreamId stream, std::uint64_t context,
                                                     Kind kind) const {
  std::vector<Position> awaited;
  if (kind == Kind::apart) return awaited;
  const auto its = streams_.find(stream);
  for (const auto& [id, other] : streams_) {
    const bool waits = id != stream && other.context == context && !other.barriers.empty() &&
                       (kind == Kind::legacy ? other.kind == Kind::blocking : other.kind == Kind::legacy);
    if (!waits) continue;
    const Position last{id, other.barriers.back().number};
    if (its == streams_.end() || !waits_already(its->second, last)) awaited.push_back(last);
  }
  return awaited;
}

void HeldWork::submits(StreamId stream, std::uint64_t context, Kind kind) {
  launches(stream, context, kind);
  const std::lock_guard lock(mutex_);
  ++streams_[stream].places;
}

void HeldWork::launches(StreamId stream, std::uint64_t context, Kind kind) {
  const std::lock_guard lock(mutex_);
  prune();
  Held& its = streams_[stream];
  its.context = context;
  its.kind = kind;
  if (auto awaited = waited_for(stream, context, kind); !awaited.empty())
    add_wait(stream, std::move(awaited), nullptr);
}

bool HeldWork::is_held(StreamId stream) {
  const std::lock_guard lock(mutex_);
  prune();
  const auto found = streams_.find(stream);
  return found != streams_.end() && !found->second.barriers.empty();
}

void HeldWork::recorded(std::uint64_t event, StreamId stream) {
  const std::lock_guard lock(mutex_);
  prune();
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.barriers.empty())
    events_.erase(event);
  else
    events_[event] = {stream, found->second.barriers.back().number};
  if (events_.size() < most_events_) return;
  std::erase_if(events_, [this](const auto& one) { return over(one.second); });
  most_events_ = std::max(most_events_, 2 * events_.size());
}

bool HeldWork::held(std::uint64_t event) {
  const std::lock_guard lock(mutex_);
  prune();
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  if (!over(found->second)) return true;
  events_.erase(found);
  return false;
}

void HeldWork::waits(StreamId stream, std::uint64_t event, Mark mark) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end() || found->second.stream == stream) {
    if (mark != nullptr) ask_.no_longer(mark);
    return;
  }
  add_wait(stream, {found->second}, mark);
}

std::uint64_t HeldWork::behind(StreamId stream) {
  const std::lock_guard lock(mutex_);
  prune();
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.barriers.empty()) return 0;
  return found->second.places - found->second.barriers.front().before;
}

bool HeldWork::stands_still(StreamId stream) {
  const std::lock_guard lock(mutex_);
  prune();
  return still(stream, 0);
}

bool HeldWork::still(StreamId stream, int depth) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.barriers.empty() || depth > kMostStreamsInARow) return false;
  const Barrier& first = found->second.barriers.front();
  if (first.launch != 0) return ask_.launch(stream, first.launch) == LaunchIs::left;
  if (first.mark != nullptr && !ask_.reached(first.mark)) return false;
  // One that does not come is enough to stop it.
  return std::any_of(first.awaited.begin(), first.awaited.end(), [&](const Position& position) {
    return !over(position) && still(position.stream, depth + 1);
  });
}

void HeldWork::forget(StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (const auto found = streams_.find(stream); found != streams_.end()) found->second.forgotten = true;
  prune();
}

void HeldWork::forget_all_of(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  prune();
  std::erase_if(streams_, [&](const auto& one) {
    if (one.second.context != context) return false;
    for (const Barrier& barrier : one.second.barriers)
      if (barrier.mark != nullptr) ask_.no_longer(barrier.mark);
    return true;
  });
}

bool HeldWork::forgotten_stand_still() {
  const std::lock_guard lock(mutex_);
  prune();
  bool any = false;
  for (const auto& [id, held] : streams_) {
    if (!held.forgotten) continue;
    if (!still(id, 0)) return false;
    any = true;
  }
  return any;
}

}  // namespace gangway::live
