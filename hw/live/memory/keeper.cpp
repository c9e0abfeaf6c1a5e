#include "hw/live/memory/keeper.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gangway::live {
namespace {

constexpr Duration kPinning{2'000'000};         // between looks while only pinning goes on
constexpr Duration kAfterFailure{500'000'000};  // before a client's state is moved again
constexpr Duration kBeforeNo{150'000'000};      // of an ask beyond all that there can be
constexpr std::uint64_t kLooksBeforeNo = 2;     // the device may have more than was thought
constexpr Duration kBetweenStops{100'000'000};  // looks whether a process is stopped
constexpr Duration kForgiven{10'000'000'000};   // without a failure
constexpr Duration kTaking{10'000'000};         // from a grant to the claim, on a busy machine
constexpr Duration kGrace{200'000'000};         // for others to leave, once who asked before comes in
constexpr std::uint32_t kNoMemory = 2;          // of the driver
constexpr std::uint64_t kShortStep = std::uint64_t{64} << 20;

}  // namespace

// --- Who is there

Keeper::Kept* Keeper::find(const KeptClient& client) {
  return const_cast<Kept*>(std::as_const(*this).find(client));
}
const Keeper::Kept* Keeper::find(const KeptClient& client) const {
  for (const auto& kept : all_)
    if (kept->client == &client) return kept.get();
  return nullptr;
}

void Keeper::comes(KeptClient& client) {
  auto kept = std::make_unique<Kept>();
  kept->client = &client;
  kept->seen = client.memory();
  kept->turned = kept->seen.turned;
  kept->answered = kept->seen.asked;
  kept->looks = kept->seen.looks;  // what another daemon's client has seen is long ago, but for the size
  if (total_ == 0) total_ = kept->seen.total;
  kept->claimed_before = kept->seen.claimed;
  kept->lent = kept->seen.lent;
  all_.push_back(std::move(kept));
  Kept& made = *all_.back();
  // Its own thread may still be at what an earlier daemon ordered: its gate opens when that is over.
  made.number = static_cast<std::uint32_t>(made.seen.done) + (made.seen.answers ? 1 : 0);
  client.order(Goal::here, made.number);
  // What it holds already is its own, whoever gave it that.
  set_budget(made, settings_.managed ? made.seen.claimed : UINT64_MAX);
  client.available(capacity() ? *capacity() : UINT64_MAX);
  if (made.seen.away == 0) return;
  order(made, Goal::here);
  made.brought = whole(made) || never(made);  // its threads may wait in the driver, unseen
}

void Keeper::goes(const KeptClient& client) {
  std::erase_if(all_, [&](const auto& kept) { return kept->client == &client; });
  if (all_.empty()) passed_.clear();
}

void Keeper::stays(const KeptClient& client, bool stays) {
  Kept* kept = find(client);
  if (kept == nullptr) return;
  kept->stays = stays;
  if (stays) kept->named = false;  // the next client may be called as it was
}

void Keeper::names(const KeptClient& client, std::optional<ClientId> id) {
  if (Kept* kept = find(client)) kept->id = id.value_or(ClientId{}), kept->named = id.has_value();
}

void Keeper::permit(KeptClient& client, std::uint32_t allowed, Time now) {
  Kept* kept = find(client);
  if (kept == nullptr) return client.let_in(allowed);
  if (allowed == 0 && kept->wanted != 0) kept->closed = now;
  kept->wanted = allowed;
  if (allowed == 0) {
    kept->in = kept->shut = false;
    return client.let_in(0);
  }
  kept->seen = client.memory();
  if (kept->here()) let_in(*kept);
}

void Keeper::let_in(Kept& kept) {
  kept.in = true;
  kept.shut = false;
  kept.brought = false;  // after its turn it leaves like others
  if (kept.deferred && kept.asks_since && !std::exchange(kept.graced, true))
    kept.asks_since = std::max(*kept.asks_since, now_ - settings_.patience + kGrace);
  kept.client->let_in(kept.wanted);
}

// --- What there is

std::optional<std::uint64_t> Keeper::capacity() const {
  if (!settings_.managed) return std::nullopt;
  if (!settings_.capacity && total_ == 0) return std::nullopt;
  // A state was on the device once, so it can be again, if nothing else is.
  std::uint64_t largest = 0;
  for (const auto& kept : all_) largest = std::max(largest, kept->seen.footprint());
  const std::uint64_t device =
      settings_.capacity ? *settings_.capacity : less(total_, outside_ + short_ + settings_.spare);
  return std::max(largest, less(std::min(device, settings_.most), reserved_));
}

// What is used by nobody's claim: contexts, modules, other programs. A look tells it if nobody else's claims
// have changed around it; until there was such a look, any has to do.
void Keeper::note_device() {
  for (const auto& kept : all_) {
    if (kept->seen.looks == kept->looks) continue;
    kept->looks = kept->seen.looks;
    total_ = kept->seen.total;
    std::uint64_t claimed = kept->seen.held;
    bool steady = true;
    for (const auto& other : all_) {
      if (other == kept) continue;
      claimed += other->seen.claimed;
      steady = steady && other->settled() && other->seen.claimed == other->claimed_before &&
               !other->seen.changing && !other->changed_before;
    }
    claimed += passed_in_all();
    if (steady || !looked_) outside_ = less(total_, kept->seen.free + claimed);
    looked_ = looked_ || steady;
  }
  for (const auto& kept : all_)
    kept->claimed_before = kept->seen.claimed, kept->changed_before = kept->seen.changing;
}

void Keeper::set_budget(Kept& kept, std::uint64_t bytes) {
  kept.budget = bytes;
  kept.client->budget(bytes);
  kept.seen.claimed = kept.client->memory().claimed;  // after the budget: one side sees the other
  collect(kept);
}

void Keeper::order(Kept& kept, Goal goal) {
  if (goal == Goal::away) note_rest(kept);
  kept.goal = goal;
  kept.left.reset();
  kept.wished_away = false;
  kept.client->order(goal, ++kept.number);
  kept.ordered = now_;
  kept.stalled = false;
  tell(kept, goal == Goal::away ? "leaves" : "comes",
       static_cast<std::int64_t>(goal == Goal::away ? kept.on_device() : kept.seen.away));
  if (goal == Goal::away) set_budget(kept, kept.seen.fixed);
  kept.passes_most = goal == Goal::away ? std::min(kept.on_device(), capacity().value_or(UINT64_MAX)) : 0;
}

void Keeper::tell(const Kept& kept, const char* step, std::int64_t value) {
  if (journal_ != nullptr) journal_->moved(*kept.client, step, value);
}

// Clients have taken more without a daemon; or one has just claimed what it was not given, and will see that.
bool Keeper::overdrawn() const {
  const auto most = capacity();
  return most && held_in_all() > *most;
}

std::uint64_t Keeper::free_room() const {
  const auto most = capacity();
  return most ? less(*most, held_in_all()) : UINT64_MAX;
}

// --- Looks

void Keeper::look(Time now) {
  waits_ = halted_ = false;
  for (const auto& each : all_) {
    Kept& kept = *each;
    const KeptClient::Memory before = std::exchange(kept.seen, kept.client->memory());
    collect(kept);
    if (kept.seen.saved > before.saved || kept.seen.host > before.host) kept.advanced = now;
    if (kept.seen.turned != kept.turned) {
      kept.turned = kept.seen.turned;
      kept.fails_until = now + kAfterFailure;
      kept.failed = now;
      ++kept.failures;
      tell(kept, "failed", static_cast<std::int64_t>(kept.turned));
      if (kept.goal == Goal::here && kept.seen.error == kNoMemory)
        short_ += kShortStep;                                // the device has less than was thought
      if (kept.goal == Goal::away) order(kept, Goal::here);  // what failed to come waits
    }
    if (now - kept.failed > kForgiven) kept.failures = 0;
    if (kept.seen.away == 0)
      kept.gone_since.reset();
    else if (!kept.gone_since)
      kept.gone_since = now;
    kept.stalled = stalls(kept, now);
    if (kept.fails_until && now > *kept.fails_until) {
      kept.fails_until.reset();
      if (kept.seen.away != 0 && kept.goal == Goal::here && kept.settled()) order(kept, Goal::here);
    }
    if (kept.ordered && kept.settled() && (kept.goal == Goal::away || kept.here())) {
      tell(kept, kept.goal == Goal::away ? "left" : "came", (now - *kept.ordered).ns);
      if (kept.goal == Goal::away) kept.left = now, kept.failures = 0;
      if (kept.goal == Goal::here) note_return(kept);
      kept.ordered.reset();
      if (kept.named)
        done_.push_back({kept.id, kept.goal == Goal::away ? MemoryMove::save : MemoryMove::restore});
    }
    const bool acts =
        !kept.settled() || kept.seen.asked > kept.answered || (kept.wanted != 0 && !kept.in && !kept.shut);
    if (acts) (stopped(kept, now) ? halted_ : waits_) = true;
  }
}

bool Keeper::stopped(Kept& kept, Time now) {
  if (kept.asked_about && now - *kept.asked_about < kBetweenStops) return kept.stopped;
  kept.asked_about = now;
  return kept.stopped = kept.client->stopped();
}

// Of what leaves. A checkpoint shows nothing until its end.
bool Keeper::stalls(Kept& kept, Time now) {
  if (!kept.leaves()) return false;
  const bool late =
      !whole(kept) && now - std::max(kept.advanced, kept.ordered.value_or(now)) >= settings_.patience;
  return late || stopped(kept, now);
}

// Whether its state can go to the host as things stand. Of a state that has begun to come, the room for it
// can.
bool Keeper::can_leave(Kept& kept, Time now) {
  return kept.wanted == 0 && !kept.in && could_leave(kept, now);
}

// Whether it could if its gate were closed.
bool Keeper::could_leave(Kept& kept, Time now) {
  if (kept.stays || never(kept) || kept.goal == Goal::away || kept.gives_up() == 0) return false;
  if (kept.seen.host < kept.seen.movable || (kept.fails_until && now <= *kept.fails_until)) return false;
  if (whole(kept) && away_in_all() + kept.on_device() > settings_.host) return false;
  return kept.client->look().drained() && !stopped(kept, now);
}

// The next ask is another one, even if it comes before the next look.
void Keeper::answer(Kept& kept) {
  kept.answered = kept.seen.asked;
  kept.asks_since.reset();
  kept.graced = false;
}

void Keeper::refuse(Kept& kept) {
  kept.client->refuse(kept.seen.asked);
  answer(kept);
}

// Of an ask beyond all that there can be as far as is known: what a client that was killed had may be free
// now. A client that never looks hears it all the same.
bool Keeper::hears_no(const Kept& kept, Time now) const {
  const bool looked = kept.seen.looks >= kept.asks_after + kLooksBeforeNo;
  return now - *kept.asks_since >= (looked ? kBeforeNo : settings_.patience);
}

// As if it had left and come back: the policy waits for the end of what it ordered.
void Keeper::stays(Kept& kept) {
  kept.wished_away = false;
  if (kept.named) done_.push_back({kept.id, MemoryMove::save});
}

// In order: asks of clients that are in, processes that have been away for too long, clients that the policy
// lets in, states that it wants back.
std::vector<Keeper::Need> Keeper::needs(Time now) {
  std::vector<Need> all;
  for (const auto& each : all_) {
    Kept& kept = *each;
    if (kept.seen.asked <= kept.answered) {
      if (!kept.deferred) kept.asks_since.reset();
      continue;
    }
    if (!kept.asks_since) kept.asks_since = now, kept.asks_after = kept.seen.looks;
    kept.deferred = false;
    if (kept.in || kept.here()) {
      if (kept.seen.want <= kept.budget) {
        answer(kept);
      } else if (kept.in) {
        all.push_back({&kept, kept.seen.want, true});
      }
    }
  }
  const auto returns = [&](bool (*which)(const Kept&)) {
    std::vector<Kept*> found;
    for (const auto& kept : all_)
      if (!kept->in && !kept->here() && which(*kept)) found.push_back(kept.get());
    std::stable_sort(found.begin(), found.end(),
                     [](const Kept* a, const Kept* b) { return a->closed < b->closed; });
    for (Kept* kept : found) all.push_back({kept, kept->seen.footprint(), false});
  };
  for (const auto& kept : all_) {
    kept->goes_first = overlong(*kept, now);
    kept->hopeless = kept->brought && whole(*kept) && !could_come(*kept, true, now);
  }
  returns([](const Kept& kept) { return kept.goes_first; });
  returns([](const Kept& kept) { return kept.is_let_in() && !kept.goes_first; });
  returns([](const Kept& kept) {
    return !kept.is_let_in() && kept.brought && !kept.goes_first && !kept.hopeless;
  });
  return all;
}

// --- Decisions

Time Keeper::step(Time now) {
  now_ = now;
  if (all_.empty()) return Time::max();
  look(now);
  note_device();
  foresee();
  bring_overdue(now);
  for (const auto& kept : all_) {
    if (!kept->wished_away) continue;
    if (can_leave(*kept, now))
      order(*kept, Goal::away);
    else if (never_leaves(*kept))
      stays(*kept);
  }
  const std::vector<Need> needed = needs(now);
  pass_on(needed);
  serve(needed, now);
  answer_others(now);
  bring_ahead();
  for (const auto& kept : all_)
    if (kept->wanted != 0 && !kept->in && kept->here()) let_in(*kept);
  if (settings_.managed) tell_available();
  if (waits_) return now;
  const bool pinning = std::any_of(all_.begin(), all_.end(), [](const auto& kept) {
    return kept->seen.host < kept->host && !kept->seen.no_host;
  });
  const bool failing =
      std::any_of(all_.begin(), all_.end(), [](const auto& kept) { return kept->fails_until.has_value(); });
  const bool overdue = std::any_of(all_.begin(), all_.end(), [this](const auto& kept) {
    return whole(*kept) && kept->away_since().has_value();
  });
  if (pinning || failing || overdue) return now + kPinning;
  return halted_ ? now + kBetweenStops : Time::max();
}

void Keeper::serve(const std::vector<Need>& needs, Time now) {
  std::uint64_t wanted = 0;
  for (const Need& need : needs) wanted += less(need.target, need.kept->hold());
  if (wanted != 0) has_room(wanted);
  std::uint64_t room = free_room(), shortage = 0;
  bool pins = false;                     // somebody's pinned memory is waited for
  bool urgent = false, overdue = false;  // a need of that kind is not met
  bool met = true;  // all needs so far; whoever has one of these or the first other one stays
  for (const auto& kept : all_) kept->needed = false;
  for (const Need& need : needs) {
    Kept& kept = *need.kept;
    if (!need.whole && kept.goal == Goal::away && (kept.settled() || kept.wanted != 0))
      order(kept, Goal::here);
    if (kept.goal != Goal::here) continue;
    if (need.whole && !ever(kept, need.target) && hears_no(kept, now)) {
      refuse(kept);
      continue;
    }
    kept.needed = met;
    const std::uint64_t missing = less(need.target, kept.hold());
    if (missing == 0) {
      if (need.target > kept.budget && !overdrawn()) set_budget(kept, need.target);
      continue;
    }
    const bool must_pin = need.whole && !hosted_by_now(kept, need.target);
    const bool at_once = need.whole || whole(kept);
    const std::uint64_t given = must_pin || (at_once && missing > room) ? 0 : std::min(missing, room);
    if (given != 0) set_budget(kept, kept.hold() + given);
    if (need.whole && given != 0) answer(kept), kept.granted = need.target, kept.granted_at = now;
    shortage += less(missing, room);
    room -= at_once && given == 0 ? room : given;  // nobody behind it takes what it waits for
    pins = pins || must_pin;
    met = met && missing == given;
    if (missing == given) continue;
    const bool only_overdue = !need.whole && kept.overdue && !kept.is_let_in();
    overdue = overdue || only_overdue;
    urgent = urgent || !only_overdue || kept.goes_first;
  }
  // Without a daemon clients have taken what others were promised since; or its helper has brought back all.
  if (const auto most = capacity(); most && (!needs.empty() || settings_.whole)) {
    const std::uint64_t beyond = less(held_in_all() - passed_in_all(), *most);
    shortage += beyond;
    urgent = urgent || beyond != 0;
  }
  shortage = less(shortage, passed_in_all());
  if (shortage == 0 && !pins) {
    for (const Need& need : needs)
      if (need.whole && need.kept->hold() >= need.target && need.kept->hold() != 0) give_ahead(*need.kept);
    return;
  }
  if (shortage != 0) make_room(shortage, urgent, overdue, now);
  if (!std::exchange(tight_, true)) return;  // nobody was told to pin anything yet
  for (const Need& need : needs) {
    Kept& kept = *need.kept;
    if (!need.whole || kept.answered == kept.seen.asked) continue;
    for (const auto& other : all_) {
      const bool waits = whole(*other) && other->goes_on();
      const Time began = other->goes_on() ? other->ordered.value_or(now) : other->advanced;
      kept.asks_since = std::max({*kept.asks_since, waits ? now : other->advanced, began});
    }
    if (now - *kept.asks_since < settings_.patience) continue;
    refuse(kept);
  }
}

// Each ask costs a client about 90 us. So one that grows gets a quarter of what it has ahead, if it is little
// of what is free.
void Keeper::give_ahead(Kept& kept) {
  if (!capacity()) return;
  const std::uint64_t all = kept.hold() + std::min(kept.hold() / 4, free_room() / 8);
  if (hosted_by_now(kept, all)) set_budget(kept, all);
}

void Keeper::recall_ahead() {
  for (const auto& kept : all_)
    if (const std::uint64_t ahead = kept->ahead()) set_budget(*kept, kept->budget - ahead);
}

bool Keeper::has_room(std::uint64_t bytes) {
  if (bytes > free_room()) recall_ahead();
  return bytes <= free_room() && !overdrawn();
}

// Recalls what clients may take but have not, then lets states leave. Who was just granted something takes
// it.
void Keeper::make_room(std::uint64_t shortage, bool urgent, bool overdue, Time now) {
  for (const auto& kept : all_) {
    if (!kept->spares()) continue;
    const std::uint64_t before = kept->hold();
    const bool takes = now - kept->granted_at < kTaking;
    set_budget(*kept, takes ? kept->budget - kept->ahead() : kept->seen.claimed);
    shortage = less(shortage, less(before, kept->hold()));
  }
  for (const auto& kept : all_)
    if (kept->goes_on()) shortage = less(shortage, kept->on_device());
  while (shortage > 0) {
    Kept* leaves = victim(urgent, now);
    if (leaves == nullptr && overdue) leaves = idle_owner(urgent, now);
    if (leaves == nullptr) return;
    shortage = less(shortage, leaves->gives_up());
    leaves->brought = false;
    order(*leaves, Goal::away);
  }
}

// Who has no work first, for longest; then who had the device last, since policies that take turns come back
// to them last.
Keeper::Kept* Keeper::victim(bool urgent, Time now) {
  Kept* best = nullptr;
  std::tuple<int, int, std::int64_t> least;
  for (const auto& kept : all_) {
    if (kept->needed || rests(*kept, urgent, now) || !can_leave(*kept, now)) continue;
    const Standing standing = kept->client->look();
    const bool works = (standing.job & 1) != 0 || standing.waiting;
    const std::tuple<int, int, std::int64_t> rank{kept->brought ? 1 : 0, works ? 1 : 0,
                                                  works ? -kept->closed.ns : kept->closed.ns};
    if (best == nullptr || rank < least) best = kept.get(), least = rank;
  }
  return best;
}

// Asks of clients that are not in: from free room, else they come in first.
void Keeper::answer_others(Time now) {
  for (const auto& each : all_) {
    Kept& kept = *each;
    if (kept.in || kept.seen.asked <= kept.answered) continue;
    const bool possible_at_all = ever(kept, kept.seen.want);
    const std::uint64_t missing = less(kept.seen.want, kept.hold());
    if (possible_at_all && kept.here() && hosted_by_now(kept, kept.seen.want) && has_room(missing)) {
      set_budget(kept, std::max(kept.budget, kept.seen.want));
      kept.granted = kept.seen.want;
      kept.granted_at = now;
      give_ahead(kept);
      answer(kept);
    } else if (possible_at_all) {
      kept.client->not_yet(kept.seen.asked);
      kept.deferred = true;
      kept.answered = kept.seen.asked;
    } else if (hears_no(kept, now)) {
      refuse(kept);
    }
  }
}

// Into room that nobody needs comes who waits for longest.
void Keeper::bring_ahead() {
  if (std::any_of(all_.begin(), all_.end(), [](const auto& kept) { return kept->goes_on(); })) return;
  Kept* next = nullptr;
  for (const auto& kept : all_) {
    if (kept->wanted != 0 || kept->brought || (ordered_ && kept->named)) continue;
    if (kept->goal != Goal::away || !kept->settled() || !kept->client->look().waiting) continue;
    if (next == nullptr || kept->closed < next->closed) next = kept.get();
  }
  if (next == nullptr || !has_room(less(next->seen.footprint(), next->hold()))) return;
  next->brought = true;
  order(*next, Goal::here);
}

void Keeper::tell_available() {
  for (const auto& kept : all_) kept->client->available(possible(*kept));
}

}  // namespace gangway::live
