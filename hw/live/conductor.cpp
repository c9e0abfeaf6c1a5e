#include "hw/live/conductor.hpp"

#include <algorithm>
#include <utility>

#include "hw/live/families.hpp"
#include "models/run/job_book.hpp"

namespace gangway::live {
namespace {

constexpr std::uint32_t kForgotten = 100;  // drains in time behind an overstay

}  // namespace

void Standing::merge(const Standing& other) {
  inside = inside || other.inside;
  waiting = waiting || other.waiting;
  changes_memory = changes_memory || other.changes_memory;
  outstanding += other.outstanding;
  away += other.away;
  deepest = std::max(deepest, other.deepest);
  over += other.over;
  unanswered = std::max(unanswered, other.unanswered);
  endless = endless || other.endless;
  outside = outside && other.outside;
  submissions += other.submissions;
  channels += other.channels;
  since_arrival = std::max(since_arrival, other.since_arrival);
  if (!priority) priority = other.priority;  // the first one's, as everything that is asked for
  slices.reset();
}

std::unique_ptr<Conductor> Conductor::make(const std::string& name, std::shared_ptr<Policy> policy,
                                           const GateSettings& settings, Journal& journal) {
  const Capabilities needs = policy->needs();
  const auto refuse = [&](const std::string& why) {
    throw InputError({"--policy", 0}, "policy", quote(name), why);
  };
  const bool access = needs.has(Capability::access), native = needs.has(Capability::native);
  const bool ranges = needs.has(Capability::ranges) && settings.memory == nullptr;
  const Capabilities offered =
      access   ? Capabilities{Capability::access, Capability::intercept, Capability::sampling}
      : native ? Capabilities{Capability::native}
      : ranges ? Capabilities{Capability::ranges}
      : settings.memory != nullptr ? Capabilities{Capability::evict, Capability::memory}
                                   : Capabilities{Capability::evict};
  const Capabilities rest = needs.missing_from(offered);
  if (needs.has(Capability::ranges) && needs.has(Capability::memory) && !rest.none())
    refuse("it with --param state=resident and --forms, or --param blocks=job and --memory managed");
  if (!rest.none()) refuse("a policy for live clients; this one needs " + rest.text());
  if (access) return access_conductor(std::move(policy), settings, journal);
  if (native) return open_conductor(std::move(policy), settings, journal);
  if (ranges) return range_conductor(std::move(policy), settings, journal);
  return grant_conductor(std::move(policy), settings, journal);
}

Conductor::Conductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal,
                     GrantOf of)
    : policy_(std::move(policy)),
      settings_(settings),
      journal_(journal),
      grants_(kMostClients, settings.gpus, settings.channels, of),
      clients_(kMostClients) {
  for (std::uint32_t c = 0; c < kMostClients; ++c) clients_[c].id = ClientId{c};
  grants_.show(settings.memory);
}

void Conductor::begin(Time now) {
  now_ = now;
  policy_->decide(now_, grants_, *this);
}

std::optional<ClientId> Conductor::opens(Time now, Port& port, const Introduction& introduction) {
  now_ = now;
  decide();  // the policy knows that a client is gone before another takes its place
  const auto place = std::find_if(clients_.begin(), clients_.end(),
                                  [](const Client& client) { return client.port == nullptr; });
  if (place == clients_.end()) return std::nullopt;
  const ClientId id = place->id;
  *place = {};
  place->id = id;
  place->port = &port;
  place->priority = introduction.priority;
  place->weight = introduction.weight;
  place->slo = introduction.slo;
  place->alone = introduction.alone;
  place->attributes = introduction.attributes;
  place->gpu = introduction.gpu;
  port.until_job(0);
  grants_.opens(id, introduction.program);
  journal_.note(now_, Step::opened, id, introduction.priority);
  tell(Opens{id, std::max<std::int64_t>(1, port.look().channels), introduction.weight});
  came(id);
  return id;
}

void Conductor::exited(Time now, ClientId client) {
  now_ = now;
  of(client).port = nullptr;
  of(client).closing = false;
  journal_.note(now_, Step::exited, client, 0);
  went(client);
  grants_.exited(client);
  tell(Exited{client});
  of(client).id = client.successor();
}

Conductor::State Conductor::state(ClientId client) const {
  const Client& c = clients_[client.index];
  return {c.allowed, c.closing, c.whole, c.unconfirmed, c.seen};
}

bool Conductor::is_there(ClientId client) const {
  return client.index < kMostClients && clients_[client.index].port != nullptr &&
         clients_[client.index].id == client;
}

Time Conductor::step(Time now) {
  now_ = now;
  overlook_absence();
  look();
  stand_still();
  hear_of_moves();
  fire();
  gather();
  decide();
  const auto first = std::min_element(alarms_.begin(), alarms_.end(),
                                      [](const Alarm& a, const Alarm& b) { return a.time < b.time; });
  const Time next = first == alarms_.end() ? Time::max() : first->time;
  for (const Client& client : clients_)
    if (client.port != nullptr && client.closing) return now;
  if (impatient()) return now;
  const Duration within = look_within();
  return within == Duration::max() ? next : std::min(next, now + within);
}

void Conductor::look() {
  constexpr Duration kBetweenQuestions{10'000'000};  // whether a client is still stopped
  for (Client& client : clients_) {
    if (client.port == nullptr) continue;
    client.seen = client.port->look();
    if (client.remains && client.seen.drained()) {
      journal_.note(now_, Step::drained, client.id, (now_ - client.ordered).ns);
      client.remains = false;
    }
    if (const auto asked = client.seen.priority; asked && *asked != client.priority) {
      client.priority = *asked;
      reprioritised();
    }
    if (!client.unconfirmed || now_ - client.asked_about < kBetweenQuestions) continue;
    client.asked_about = now_;
    client.unconfirmed = client.port->stopped();
  }
}

// While a client leaves, the daemon looks all the time. When it did not (it had no core, was stopped, or the
// whole machine was), it could not see what the client did, and the client may not have run either.
void Conductor::overlook_absence() {
  constexpr Duration kAbsent{10'000'000};
  for (Client& client : clients_) {
    if (client.port == nullptr || !client.closing) continue;
    const Duration missed = now_ - std::max(stepped_, client.ordered) - kAbsent;
    if (missed <= Duration{}) continue;
    client.missed += missed;
    client.since = client.since + missed;
    client.progressed = client.progressed + missed;
  }
}

// The policy's timers stand still while memory is on its way for a client that it has let in: a slice counts
// from when its client can use it.
void Conductor::stand_still() {
  const Duration passed = now_ - std::exchange(stepped_, now_);
  if (settings_.memory == nullptr) return;
  const bool arrives = std::any_of(clients_.begin(), clients_.end(), [](const Client& client) {
    return client.port != nullptr && client.allowed != 0 && client.port->arrives();
  });
  if (!arrives) return;
  for (Alarm& alarm : alarms_) alarm.time = alarm.time + passed;
}

// All of them, whoever ordered them: what a policy waits for may come by itself.
void Conductor::hear_of_moves() {
  while (settings_.memory != nullptr) {
    const auto moved = settings_.memory->done();
    if (!moved) return;
    if (!policy_->needs().has(Capability::memory) || !is_there(moved->client)) continue;
    tell(Moved{grants_.job_of(moved->client).id, DeviceId{0}, moved->move});
  }
}

void Conductor::fire() {
  for (std::size_t a = 0; a < alarms_.size();) {
    if (alarms_[a].time > now_) {
      ++a;
      continue;
    }
    tell(Timer{alarms_[a].id});
    alarms_.erase(alarms_.begin() + static_cast<std::ptrdiff_t>(a));
  }
}

// Carrying out orders can be a fact itself.
void Conductor::decide() {
  for (int round = 0; !facts_.empty(); ++round) {
    if (round == 1000) impossible("launches of finished jobs without end");
    std::vector<Fact> facts;
    facts.swap(facts_);
    sort_for_telling(facts);
    for (const Fact& fact : facts) policy_->note(now_, fact, grants_);
    policy_->decide(now_, grants_, *this);
  }
  decided();
}

void Conductor::let_jobs(ClientId client, std::uint64_t last) {
  Client& c = of(client);
  if (c.port == nullptr || c.last_job == last) return;
  c.last_job = last;
  c.port->until_job(last);
}

void Conductor::permit(ClientId client, std::uint32_t allowed, std::uint64_t last_job) {
  let_jobs(client, last_job);
  Client& c = of(client);
  c.closing = c.unconfirmed = c.remains = false;
  if (c.port == nullptr || c.allowed == allowed) return;
  c.allowed = allowed;
  c.port->permit(allowed);
  journal_.note(now_, Step::permitted, client,
                allowed == kUnlimited     ? -1
                : allowed == kIntercepted ? -2
                                          : static_cast<std::int64_t>(allowed));
}

void Conductor::close(ClientId client) {
  Client& c = of(client);
  if (c.port == nullptr || c.closing || c.allowed == 0) return;
  c.closing = true;
  c.shut = c.returned = c.looked = c.asked_late = c.overdue = false;
  c.ordered = c.since = c.progressed = now_;
  c.missed = {};
  c.over = c.seen.over;
  c.returned = c.whole;  // then its job goes on until it is over
  c.returned_in = c.seen.job;
  if (c.returned) let_jobs(client, c.returned_in);
  c.port->permit(c.allowed = c.returned ? kReturned : 0);
  // A core that sleeps takes longer to wake than most drains.
  for (const Client& other : clients_)
    if (other.port != nullptr && other.gpu == c.gpu && other.allowed == 0 && !other.closing &&
        other.seen.waiting)
      other.port->rouse();
}

bool Conductor::closed(ClientId client, bool and_drained) {
  Client& c = of(client);
  if (c.port == nullptr) return true;
  c.seen = c.port->look();
  if (c.seen.over != c.over) {
    c.over = c.seen.over;
    c.progressed = now_;
  }
  if (c.returned) {
    const bool late = now_ - c.since > settings_.drain_limit;
    if (late && given_up(client)) return true;
    const bool job_over = (c.seen.job & 1) == 0 || c.seen.job != c.returned_in;
    if (!(c.whole ? job_over : late)) return false;
    c.returned = c.looked = c.asked_late = false;
    c.since = now_;
    c.port->permit(c.allowed = 0);
    c.seen = c.port->look();
  }
  if (!c.shut && !c.seen.inside) {
    c.shut = true;
    journal_.note(now_, Step::closed, client, (now_ - c.ordered).ns);
  }
  if (c.seen.drained()) {
    journal_.note(now_, Step::drained, client, (now_ - c.ordered).ns);
    c.closing = false;
    if (++c.drains > kForgotten) c.overstays = 0;
    return true;
  }
  if (!c.looked) c.port->ask();
  c.looked = true;
  if (c.shut && !and_drained) {
    c.remains = true;
    c.closing = false;
    return true;
  }
  if (now_ - c.since > settings_.drain_limit) {
    if (given_up(client)) return true;
    const Duration over_limit = now_ - c.since - settings_.drain_limit;
    const bool answered = c.seen.unanswered < over_limit;
    if (!answered && over_limit <= settings_.drain_limit) {
      if (!std::exchange(c.asked_late, true)) c.port->ask();
      return false;
    }
    // What is on the device may wait for what the gate holds back: it goes on, and that is charged.
    c.returned = true;
    c.since = now_;
    c.returned_in = c.seen.job;
    let_jobs(client, 0);
    c.port->permit(c.allowed = kReturned);
    journal_.note(now_, Step::returned, client, (now_ - c.ordered).ns);
    if (!answered) return false;
    c.drains = 0;
    if (++c.overstays == 2 && !c.seen.endless) {
      c.whole = true;
      journal_.note(now_, Step::whole, client, 0);
    }
  }
  return false;
}

bool Conductor::given_up(ClientId client) {
  Client& c = of(client);
  if (!c.port->stopped()) return false;
  if (c.allowed != 0) c.port->permit(c.allowed = 0);
  c.closing = c.returned = false;
  c.unconfirmed = true;
  c.asked_about = now_;
  journal_.note(now_, Step::unconfirmed, client, (now_ - c.ordered).ns);
  return true;
}

void Conductor::impossible(const std::string& what) const { throw RunError("the policy ordered " + what); }

TimerId Conductor::wake_at(Time time) {
  if (time < now_) impossible("a timer in the past");
  alarms_.push_back({time, {++timers_}});
  return {timers_};
}

void Conductor::cancel(TimerId timer) {
  std::erase_if(alarms_, [&](const Alarm& a) { return a.id == timer; });
}

void Conductor::kill(ClientId client) {
  if (!is_there(client)) return;
  journal_.note(now_, Step::killed, client, 0);
  of(client).port->kill();
}

}  // namespace gangway::live
