// Host memory for states: who has it, who could have it, and what follows where somebody cannot.
//
// A state without host memory never leaves. So a client that would grow beyond its host memory gets no more
// than leaves room for the largest of the others beside it: whoever has left for it could never return.
#include <algorithm>
#include <utility>

#include "hw/live/memory/keeper.hpp"

namespace gangway::live {
namespace {

constexpr unsigned kHopeless = 3;  // failures: nobody counts on its next move
constexpr std::uint64_t kHostStep = std::uint64_t{512} << 20, kShortHostStep = std::uint64_t{64} << 20;
constexpr std::uint64_t kHostGrain = std::uint64_t{2} << 20;

constexpr std::uint64_t up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

// Whether the driver moves its process.
bool Keeper::whole(const Kept& kept) const {
  using Leaves = KeptClient::Memory::Leaves;
  const bool usual = kept.seen.leaves == Leaves::as_usual;
  return settings_.managed && (kept.seen.leaves == Leaves::whole || (settings_.whole && usual));
}

bool Keeper::in_pieces(const Kept& kept) const { return settings_.managed && !whole(kept) && !never(kept); }

// Bytes of its state for which there is pinned memory, or will be.
std::uint64_t Keeper::could_pin(const Kept& kept) const {
  return kept.seen.no_host ? kept.seen.host : std::max(kept.hosted, kept.seen.host);
}

bool Keeper::stays_for_good(const Kept& kept) const {
  if (kept.failures >= kHopeless || never(kept)) return true;
  if (whole(kept)) return kept.seen.no_host;
  return in_pieces(kept) && could_pin(kept) < kept.seen.movable;
}

// Whether there is no pinned memory for its state, and none to come.
bool Keeper::never_leaves(const Kept& kept) const {
  if (never(kept)) return true;
  if (whole(kept)) return away_in_all() + kept.on_device() > settings_.host;
  return could_pin(kept) < kept.seen.movable;
}

// What of it will not leave.
std::uint64_t Keeper::stuck(const Kept& kept) const {
  return kept.seen.fixed + (stays_for_good(kept) ? kept.on_device() : 0);
}

// What others leave of the device if all that can leaves.
std::uint64_t Keeper::room_at_best(const Kept& kept) const {
  std::uint64_t others = 0;
  for (const auto& other : all_)
    if (other.get() != &kept) others += stuck(*other);
  const auto most = capacity();
  return most ? less(*most, others) : UINT64_MAX;
}

// The budget with which it can stay for good: each of the others can come. `best`: its room_at_best().
std::uint64_t Keeper::beside_others(const Kept& kept, std::uint64_t best) const {
  std::uint64_t largest = 0;
  for (const auto& other : all_)
    if (other.get() != &kept) largest = std::max(largest, less(other->seen.footprint(), stuck(*other)));
  return less(best, largest);
}

// The largest budget that the client could ever get.
std::uint64_t Keeper::possible(const Kept& kept) const {
  const std::uint64_t best = room_at_best(kept);
  if (!capacity() || whole(kept)) return best;
  const std::uint64_t left = kept.seen.no_host ? 0 : std::min(host_left_, best);
  const std::uint64_t leaves =
      kept.failures >= kHopeless || never(kept) ? 0 : could_pin(kept) + left + kept.seen.fixed;
  return std::max(beside_others(kept, best), std::min(best, leaves));
}

// Whether it has host memory already for such a budget, or needs none.
bool Keeper::hosted_by_now(const Kept& kept, std::uint64_t target) const {
  if (whole(kept)) return can_swap(kept, target);
  return target <= std::max(beside_others(kept, room_at_best(kept)), kept.seen.host + kept.seen.fixed);
}

// Of whole processes: whether the host has room for all that is away while two of them change places. At
// worst the largest has left and the next has not come: then only what fits beside both is on the device, but
// at least the smallest.
bool Keeper::can_swap(const Kept& kept, std::uint64_t target) const {
  const auto most = capacity();
  if (!most) return true;
  std::uint64_t sum = 0, first = 0, second = 0, least = UINT64_MAX, stays = 0, host = settings_.host;
  for (const auto& each : all_) {
    if (in_pieces(*each)) {
      host = less(host, pinned(*each));
      continue;
    }
    const std::uint64_t state = each.get() == &kept ? target : less(each->seen.footprint(), stuck(*each));
    stays += each.get() == &kept ? 0 : stuck(*each);
    if (state == 0) continue;
    sum += state;
    least = std::min(least, state);
    second = std::max(second, std::min(first, state));
    first = std::max(first, state);
  }
  const std::uint64_t device = less(*most, stays);
  if (sum <= device || sum <= host) return true;
  if (first + second > device) return false;
  return sum - std::max(device - first - second, least) <= host;
}

bool Keeper::ever(const Kept& kept, std::uint64_t target) const {
  return target <= possible(kept) && (!whole(kept) || can_swap(kept, target));
}

// Bytes of its state if it gets what it asks for.
std::uint64_t Keeper::asked_state(const Kept& kept) const {
  if (!in_pieces(kept)) return 0;
  if (kept.seen.asked <= kept.answered || kept.seen.want > room_at_best(kept)) return kept.seen.movable;
  return std::max(kept.seen.movable, less(kept.seen.want, kept.seen.fixed));
}

// Who has been told to pin some keeps that. The rest is for the others in the order in which they came.
void Keeper::share_host() {
  host_left_ = less(settings_.host, away_in_all());
  for (const auto& kept : all_) kept->hosted = in_pieces(*kept) ? pinned(*kept) : 0;
  for (const auto& kept : all_) {
    const std::uint64_t state = asked_state(*kept);
    if (state <= kept->hosted) continue;
    std::uint64_t rounded = up(state, state >= kHostStep ? kHostStep : kShortHostStep);
    if (rounded - kept->hosted > host_left_) rounded = up(state, kHostGrain);
    if (rounded - kept->hosted > host_left_) continue;
    host_left_ -= rounded - kept->hosted;
    kept->hosted = rounded;
  }
}

// Pinned memory for states, once they will not all fit.
void Keeper::foresee() {
  for (const auto& kept : all_)
    if (never(*kept) && kept->seen.movable != 0) say_it_stays(*kept);
  if (!settings_.managed) return;
  share_host();
  const auto most = capacity();
  if (!most) return;
  std::uint64_t sum = 0, largest = 0, asked = 0;
  for (const auto& kept : all_) {
    sum += kept->seen.footprint();
    largest = std::max(largest, kept->seen.footprint());
    asked += kept->seen.fixed + std::max(kept->seen.movable, asked_state(*kept));
  }
  if (all_.size() > 1 && (sum + largest > *most || asked > *most)) tight_ = true;
  // A policy may have states leave that there is room for.
  const bool wished =
      std::any_of(all_.begin(), all_.end(), [](const auto& kept) { return kept->wished_away; });
  if (!wished && (!tight_ || all_.size() < 2)) return;
  for (const auto& kept : all_) {
    if (kept->hosted > kept->host && asked_state(*kept) > kept->host) {
      kept->host = kept->hosted;
      kept->client->host(kept->host);
    }
    if (in_pieces(*kept) && could_pin(*kept) < kept->seen.movable) say_it_stays(*kept);
  }
}

void Keeper::say_it_stays(Kept& kept) {
  if (!std::exchange(kept.said_to_stay, true) && journal_ != nullptr) journal_->cannot_leave(*kept.client);
}

}  // namespace gangway::live
