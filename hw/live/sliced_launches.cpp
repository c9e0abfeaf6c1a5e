// Launches in slices: the stream comes to the launch, waits for its word, and the blocks are launched beside
// it, range after range, as the policy has it. Between two slices nothing of it is on the device.
#include <algorithm>

#include "hw/live/launch_book.hpp"

namespace gangway::live {
namespace {

// How many times longer than others a slice may stay before the rest of its grid joins it. It has no flag to
// look at, and its blocks may just be long.
constexpr std::int64_t kPatienceWithSlices = 10;
constexpr double kLongerThanExpected = 4;

}  // namespace

LaunchBook::Entry* LaunchBook::of_turn() {
  if (turns_.empty()) return nullptr;
  const auto found = streams_.find(turns_.front());
  return found == streams_.end() || found->second.entries.empty() ? nullptr : &found->second.entries.front();
}

std::optional<LaunchBook::Turn> LaunchBook::turn() {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = of_turn();
  if (entry == nullptr) return std::nullopt;
  return Turn{turns_.front(),          entry->number, entry->launch->of_slices(),
              entry->launch->blocks(), entry->done,   entry->state != State::left};
}

bool LaunchBook::slice(std::uint32_t until) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = of_turn();
  if (entry == nullptr || leaving_ || entry->state != State::left) return false;
  const std::uint32_t end = std::min(until, entry->launch->blocks());
  if (end <= entry->done || entry->failed) return false;
  if (!accepted(*entry, port_.slice(*entry->launch, entry->done, end))) return false;
  entry->state = State::again;
  entry->end = end;
  entry->began = port_.now();
  return true;
}

// True: it is over.
bool LaunchBook::step_sliced(std::uint64_t name, Entry& entry) {
  if (entry.state == State::submitted && reached(port_.gone(name), entry.number)) {
    entry.state = State::left;
    turns_.push_back(name);
  }
  if (entry.state != State::again) return false;
  step_parts(entry);
  const std::uint32_t all = entry.launch->blocks();
  if (!entry.gone) {
    const std::optional<std::int64_t> took = port_.slice_over();
    if (!took) {
      look_whether_slice_waits(entry);
      return false;
    }
    if (entry.parts.empty() && !entry.joins) entry.launch->slice_took(entry.end - entry.done, *took);
    entry.gone = true;
  }
  if (!entry.parts.empty()) return false;
  entry.gone = false;
  entry.done = entry.joins ? all : entry.end;
  if (entry.done < all) {
    entry.state = State::left;
    if (leaving_) leave_between_slices(entry);
    return false;
  }
  turns_.pop_front();
  port_.finish(entry.word, all);
  return true;
}

// A slice whose blocks wait for later ones never ends by itself.
void LaunchBook::look_whether_slice_waits(Entry& entry) {
  const std::uint32_t all = entry.launch->blocks();
  if (entry.joins || entry.end >= all) return;
  if (leaving_) return;  // what joins would run in somebody else's turn
  const std::int64_t stays = port_.now() - entry.began;
  if (stays < kPatienceWithSlices * patience_.load()) return;
  const double expected =
      static_cast<double>(entry.launch->of_slices().time) * (entry.end - entry.done) / all;
  if (static_cast<double>(stays) < kLongerThanExpected * expected) return;
  entry.joins = true;
  entry.parts.push_back({entry.end, all});
  if (!entry.launch->waits_for_later_blocks()) return;
  latest_that_waits_ = entry.launch->kernel();
  waiting_.fetch_add(1);
}

// Somebody else gets the device between two of its slices: that is an eviction.
void LaunchBook::leave_between_slices(const Entry& entry) {
  if (entry.done != 0) evictions_.fetch_add(1);
}

}  // namespace gangway::live
