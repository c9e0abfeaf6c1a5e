// Processes that are away as a whole and may wait in any call of the driver, which nobody sees: they come
// back after a while.
#include <algorithm>
#include <utility>

#include "hw/live/memory/keeper.hpp"

namespace gangway::live {
namespace {

constexpr Duration kMostPatience{60'000'000'000};
constexpr Duration kToGate{100'000'000};  // from its return until it waits at its gate, where policies see it
constexpr Duration kIdle{100'000'000};    // of a client with an open gate, before its room is somebody else's

}  // namespace

Keeper::Doings Keeper::doings_of(const Kept& kept) {
  const Standing standing = kept.client->look();
  return {standing.submissions, standing.job, kept.seen.claimed, kept.seen.asked};
}

void Keeper::bring_overdue(Time now) {
  for (const auto& kept : all_) {
    if (kept->shut && kept->client->look().waiting) kept->shut = false;
    if (!whole(*kept) || kept->is_let_in() || kept->brought) continue;
    const std::optional<Time> since = kept->away_since();
    if (!since || now - *since < kept->most_away) continue;
    const Standing standing = kept->client->look();
    if (standing.waiting && (standing.job & 1) != 0) continue;  // for its turn; else for memory, maybe
    kept->brought = kept->overdue = true;
    order(*kept, Goal::here);
  }
}

void Keeper::note_return(Kept& kept) {
  kept.idle_since.reset();
  if (!kept.overdue) return;
  kept.did = doings_of(kept);
  kept.rests_until = now_ + kMostAway;
}

// It leaves. If it had come back for nothing, it is left alone for longer the next time.
void Keeper::note_rest(Kept& kept) {
  const bool for_nothing = kept.overdue && kept.seen.away == 0 && doings_of(kept) == kept.did;
  if (for_nothing)
    kept.most_away = std::min(Duration{2 * kept.most_away.ns}, kMostPatience);
  else if (!kept.overdue || kept.seen.away == 0)
    kept.most_away = kMostAway;
  kept.overdue = false;
}

// Whether it goes before clients that the policy lets in: if those take turns, there is never room otherwise.
bool Keeper::overlong(Kept& kept, Time now) {
  return kept.overdue && kept.gone_since && now - *kept.gone_since > Duration{2 * kept.most_away.ns} &&
         could_come(kept, false, now);
}

// Whether there is room for it if all leave that can; else some would leave for nothing. `owners`: also those
// that the policy has let in, which leave if they are idle.
bool Keeper::could_come(Kept& kept, bool owners, Time now) {
  std::uint64_t missing = less(less(kept.seen.footprint(), kept.hold()), free_room());
  for (const auto& other : all_) {
    if (missing == 0) break;
    if (other.get() == &kept) continue;
    const bool could = owners ? could_leave(*other, now) : can_leave(*other, now);
    if (other->goes_on() || (could && !rests(*other, true, now))) missing = less(missing, other->gives_up());
  }
  return missing == 0;
}

// Whether it has only just come back so. Of several that are overdue each has some time.
bool Keeper::rests(const Kept& kept, bool urgent, Time now) const {
  if (!kept.overdue || !kept.here()) return false;
  if (!urgent) return now < kept.rests_until;
  return now < kept.rests_until - kMostAway + kToGate && !kept.client->look().waiting;
}

// One whose gate the policy has opened, and that makes no use of it. Its gate is closed here until it waits.
Keeper::Kept* Keeper::idle_owner(bool urgent, Time now) {
  for (const auto& kept : all_) {
    if (!kept->in || kept->needed || rests(*kept, urgent, now)) continue;
    const Doings doings = doings_of(*kept);
    const bool idle = !kept->client->look().busy() && doings == std::exchange(kept->does, doings);
    if (!idle || !kept->idle_since) kept->idle_since = now;
    if (now - *kept->idle_since < kIdle || !could_leave(*kept, now)) continue;
    kept->client->let_in(0);
    if (kept->client->look().busy() || !(doings_of(*kept) == doings)) {
      kept->client->let_in(kept->wanted);
      continue;
    }
    kept->in = false;
    kept->shut = true;
    kept->closed = now;
    return kept.get();
  }
  return nullptr;
}

}  // namespace gangway::live
