#include "hw/live/conductor.hpp"

#include <algorithm>

#include "hw/live/families.hpp"
#include "models/run/job_book.hpp"

namespace gangway::live {

Conductor::Clients::Clients() : kernels(kMostClients) {
  jobs_.resize(kMostClients);
  for (std::uint32_t c = 0; c < kMostClients; ++c) {
    kernels[c] = {{BlockCount{1}, Duration{}, 0, BlockCount{1}, std::nullopt, 0}};
    jobs_[c].id.client = {c};
    jobs_[c].kernels = kernels[c];
  }
}

std::unique_ptr<Conductor> Conductor::make(const PolicyEntry& entry, std::unique_ptr<Policy> policy,
                                           const GateSettings& settings, Journal& journal) {
  const Capabilities needs = policy->needs();
  const auto refuse = [&](const std::string& why) {
    throw InputError({"--policy", 0}, "policy", quote(entry.name), why);
  };
  if (needs.has(Capability::access)) {
    if (const Capabilities rest = needs.missing_from({Capability::access}); !rest.none())
      refuse("a policy that live clients can obey; it needs " + rest.text());
    if (!disengaged(entry.name))
      refuse("one that need not intercept single submissions, such as disengaged-timeslice");
    return access_conductor(std::move(policy), settings, journal);
  }
  if (const Capabilities rest = needs.missing_from({Capability::evict}); !rest.none())
    refuse("a policy that live clients can obey; it needs " + rest.text());
  if (!grants_whole_jobs(entry.name)) refuse("one that need not know how long a job will take, such as piv");
  return grant_conductor(std::move(policy), settings, journal);
}

Conductor::Conductor(std::unique_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
    : policy_(std::move(policy)), settings_(settings), journal_(journal), clients_(kMostClients) {}

void Conductor::begin(Time now) {
  now_ = now;
  policy_->decide(now_, view_, *this);
}

std::optional<ClientId> Conductor::opens(Time now, Port& port, std::int32_t priority) {
  now_ = now;
  for (std::uint32_t c = 0; c < kMostClients; ++c) {
    const ClientId id{c};
    if (clients_[c].port != nullptr || known(id)) continue;
    clients_[c] = {};
    clients_[c].port = &port;
    clients_[c].priority = priority;
    view_.kernels[c][0].priority = priority;
    journal_.note(now_, Step::opened, id, priority);
    came(id);
    return id;
  }
  return std::nullopt;
}

void Conductor::exited(Time now, ClientId client) {
  now_ = now;
  of(client).port = nullptr;
  of(client).closing = false;
  journal_.note(now_, Step::exited, client, 0);
  went(client);
}

Time Conductor::step(Time now) {
  now_ = now;
  look();
  fire();
  gather();
  // Carrying out orders can be a fact itself.
  for (int round = 0; !facts_.empty(); ++round) {
    if (round == 1000) impossible("launches of jobs that are over, without end");
    decide();
  }
  const auto first = std::min_element(alarms_.begin(), alarms_.end(),
                                      [](const Alarm& a, const Alarm& b) { return a.time < b.time; });
  const Time next = first == alarms_.end() ? Time::max() : first->time;
  for (const Client& client : clients_)
    if (client.port != nullptr && client.closing) return now;
  return impatient() ? now : next;
}

void Conductor::look() {
  for (Client& client : clients_)
    if (client.port != nullptr) client.seen = client.port->look();
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

void Conductor::decide() {
  std::vector<Fact> facts;
  facts.swap(facts_);
  sort_for_telling(facts);
  for (const Fact& fact : facts) policy_->note(now_, fact, view_);
  policy_->decide(now_, view_, *this);
}

void Conductor::permit(ClientId client, std::uint32_t allowed) {
  Client& c = of(client);
  c.closing = false;
  if (c.port == nullptr || c.allowed == allowed) return;
  c.allowed = allowed;
  c.port->permit(allowed);
  journal_.note(now_, Step::permitted, client,
                allowed == kUnlimited ? -1 : static_cast<std::int64_t>(allowed));
}

void Conductor::close(ClientId client) {
  Client& c = of(client);
  if (c.port == nullptr || c.closing || c.allowed == 0) return;
  c.closing = true;
  c.shut = c.returned = c.looked = c.overdue = false;
  c.ordered = c.since = now_;
  c.returned = c.whole;  // then its job goes on until it is over
  if (!c.returned) c.port->permit(c.allowed = 0);
}

bool Conductor::closed(ClientId client, bool and_drained) {
  Client& c = of(client);
  if (c.port == nullptr) return true;
  c.seen = c.port->look();
  if (c.returned) {
    const bool enough = c.whole ? (c.seen.job & 1) == 0 : now_ - c.since > settings_.drain_limit;
    if (!enough) return false;
    c.returned = false;
    c.since = now_;
    c.port->permit(c.allowed = 0);
    c.seen = c.port->look();
  }
  if (!c.shut && !c.seen.inside) {
    c.shut = true;
    journal_.note(now_, Step::closed, client, (now_ - c.ordered).ns);
  }
  if (c.shut && !and_drained) {
    c.closing = false;
    return true;
  }
  if (c.seen.drained()) {
    journal_.note(now_, Step::drained, client, (now_ - c.ordered).ns);
    c.closing = false;
    return true;
  }
  if (!c.looked) c.port->ask();
  c.looked = true;
  if (now_ - c.since > settings_.drain_limit) {
    // What is on the device may wait for what the gate holds back: it goes on, and that is charged.
    c.returned = true;
    c.since = now_;
    c.port->permit(c.allowed = kUnlimited);
    journal_.note(now_, Step::returned, client, (now_ - c.ordered).ns);
    if (++c.overstays == 2) {
      c.whole = true;
      journal_.note(now_, Step::whole, client, 0);
    }
  }
  return false;
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
  if (of(client).port == nullptr) return;
  journal_.note(now_, Step::killed, client, 0);
  of(client).port->kill();
}

}  // namespace gangway::live
