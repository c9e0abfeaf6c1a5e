// Processes that are away as a whole and may wait in any call of the driver, which nobody sees: they come
// back after a while.
#include <algorithm>
#include <utility>

#include "hw/live/memory/keeper.hpp"

namespace gangway::live {
namespace {

constexpr Duration kMostPatience{60'000'000'000};
constexpr Duration kSeen{
    100'000'000};  // of one that has come back so: to reach its gate, where policies see it
constexpr Duration kIdle{100'000'000};  // of a client with an open gate, before its room is somebody else's

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

// Whether it goes before clients that the policy lets in. If those take turns, there is never room otherwise.
bool Keeper::overlong(const Kept& kept) const {
  return kept.overdue && kept.gone_since && now_ - *kept.gone_since > Duration{2 * kept.most_away.ns};
}

// Whether it has only just come back so. Of several that are overdue each has some time.
bool Keeper::rests(const Kept& kept, bool urgent, Time now) const {
  if (!kept.overdue || !kept.here()) return false;
  if (!urgent) return now < kept.rests_until;
  return now < kept.rests_until - kMostAway + kSeen && !kept.client->look().waiting;
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
