#include <algorithm>
#include <map>

#include "hw/live/families.hpp"

namespace gangway::live {
namespace {

constexpr Duration kUseLook{200'000};  // between looks at what uses the device, for policies that ask for it
constexpr Duration kSampleLook{50'000};     // likewise, at a client that is sampled
constexpr std::int64_t kMostPatience = 10;  // limits, for a stream with many submissions
constexpr std::int64_t kMostLimits = 100;   // until a client that is waited for has drained

class AccessConductor : public Conductor {
 public:
  AccessConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : Conductor(std::move(policy), settings, journal),
        counts_use_(policy_->needs().has(Capability::sampling)),
        clients_seen_(kMostClients) {}

 private:
  // A client that is being sampled: it has room for one submission at a time, so that their use of the device
  // is its own.
  struct Sample {
    Time since, until;
    std::uint64_t first = 0;  // submissions before it
    std::uint64_t most = 0;
    Duration busy;
    std::optional<Duration> span;  // how long it had, once its gate closes
  };
  struct Seen {
    bool draining = false;
    std::uint64_t submissions = 0;  // as of the last Activity
    Duration use;                   // since then
    std::uint64_t asked = 0;        // intercepted submissions that the policy knows of
    std::optional<Sample> sample;
    bool busy = false;   // as of the last look
    Time looked_after;   // its helper was asked
    bool fresh = false;  // the policy has said nothing of its access
    bool waits = false;  // the policy knows that it waits, denied
  };
  struct Request {
    ClientId client;
    std::uint64_t number = 0;
  };

  void came(ClientId client) override {
    Seen& seen = seen_of(client);
    seen = {};
    seen.submissions = of(client).port->look().submissions;
    seen.fresh = true;
  }

  // All clients begin with direct access.
  void decided() override {
    for (std::uint32_t c = 0; c < kMostClients; ++c)
      if (std::exchange(clients_seen_[c].fresh, false)) permit(clients_[c].id, kUnlimited);
  }

  void went(ClientId client) override {
    seen_of(client) = {};
    forget_requests(client);
  }

  void gather() override {
    count_use();
    for (std::uint32_t c = 0; c < kMostClients; ++c) {
      Client& client = clients_[c];
      if (client.port == nullptr) continue;
      if (clients_seen_[c].sample) look_at_sample(client);
      if (client.closing) look_at_closing(client);
      if (client.allowed == kIntercepted) hear_requests(client);
      hear_of_waiting(client);
    }
  }

  void look_at_closing(Client& client) {
    Seen& seen = seen_of(client.id);
    if (closed(client.id, true)) {
      if (seen.sample) return sampled(client.id);
      if (seen.draining) drained(client.id, seen_since_order(client));
    } else if ((seen.draining || seen.sample) && client.returned && !client.overdue) {
      // Only a client that may submit can be blamed for what does not end.
      if (now() - seen.looked_after > kUseLook) {
        seen.looked_after = now();
        client.port->ask();
      }
      if (!stuck(client)) return;
      client.overdue = true;
      tell(Overdue{client.id, now() - client.progressed});
    }
  }

  Duration seen_since_order(const Client& client) const { return now() - client.ordered - client.missed; }

  // Of n submissions on a stream of which none is over after n times the limit, one takes too long, if the
  // client's helper has looked since. Who has many, one of which does not end, is not waited for n times, and
  // nor is a helper that does not answer; nor anybody for ever, whatever the page says.
  bool stuck(const Client& client) const {
    if (seen_since_order(client).ns / kMostLimits > limit_.ns) return true;
    if (client.seen.outstanding == 0) return false;
    const Duration still = now() - client.progressed;
    if (still.ns / kMostPatience > limit_.ns) return true;
    const auto patience = std::clamp<std::uint64_t>(client.seen.deepest, 1, kMostPatience);
    return (still - client.seen.unanswered).ns / static_cast<std::int64_t>(patience) > limit_.ns;
  }

  void drained(ClientId id, Duration overrun) {
    seen_of(id).draining = false;
    tell(Drained{id, overrun});
    tell_activity(id);
  }

  void tell_activity(ClientId id) {
    Seen& seen = seen_of(id);
    const Standing& standing = of(id).seen;
    tell(Activity{id, standing.submissions != seen.submissions, standing.waiting, seen.use});
    seen.submissions = standing.submissions;
    seen.use = {};
    seen.waits = standing.waiting;
  }

  // --- Use of the device: the time with work on it, shared equally among the clients that have some

  void count_use() {
    if (!counts_use_) return;
    const Duration passed = now() - counted_;
    counted_ = now();
    const auto busy =
        std::count_if(clients_seen_.begin(), clients_seen_.end(), [](const Seen& seen) { return seen.busy; });
    for (std::uint32_t c = 0; c < kMostClients; ++c) {
      Seen& seen = clients_seen_[c];
      const Client& client = clients_[c];
      if (std::exchange(seen.busy, false)) {
        seen.use += Duration{passed.ns / busy};
        if (seen.sample) seen.sample->busy += passed;
      }
      if (client.port == nullptr || client.seen.outstanding == 0) continue;
      seen.busy = true;
      if (now() - seen.looked_after < (seen.sample ? kSampleLook : kUseLook)) continue;
      seen.looked_after = now();
      client.port->ask();
    }
  }

  Duration look_within() const override {
    return counts_use_ && std::any_of(clients_seen_.begin(), clients_seen_.end(),
                                      [](const Seen& seen) { return seen.busy; })
               ? kUseLook
               : Duration::max();
  }

  // --- Sampling

  void sample(ClientId client, Duration span, std::int64_t requests) override {
    if (!is_there(client)) return;
    Seen& seen = seen_of(client);
    seen.sample = Sample{
        now(), now() + span, of(client).port->look().submissions, static_cast<std::uint64_t>(requests), {},
        {}};
    permit(client, 1);
  }

  void look_at_sample(const Client& client) {
    Sample& sample = *seen_of(client.id).sample;
    if (sample.span) return;
    if (now() < sample.until && client.seen.submissions - sample.first < sample.most) return;
    sample.span = now() - sample.since;
    close(client.id);
  }

  void sampled(ClientId id) {
    Seen& seen = seen_of(id);
    const Sample sample = *std::exchange(seen.sample, std::nullopt);
    tell(Sampled{id, static_cast<std::int64_t>(of(id).seen.submissions - sample.first), sample.busy,
                 now() - sample.since});
    tell_activity(id);
  }

  // --- Interception: a submission waits for a number, and the policy admits numbers in their order

  void hear_of_waiting(const Client& client) {
    Seen& seen = seen_of(client.id);
    const bool waits = client.allowed == 0 && client.seen.waiting && !seen.fresh;
    if (!std::exchange(seen.waits, waits) && waits) tell(Activity{client.id, false, true, {}});
  }

  void hear_requests(const Client& client) {
    Seen& seen = seen_of(client.id);
    if (client.seen.asked - seen.asked >
        kMostAsked) {  // more than there are threads: its page is not to be believed
      seen.asked = client.seen.asked;
      return kill(client.id);
    }
    while (seen.asked < client.seen.asked) {
      const RequestId id{++requests_};
      waiting_[id] = {client.id, ++seen.asked};
      tell(Submitted{client.id, id});
    }
  }

  void admit(RequestId request) override {
    const auto found = waiting_.find(request);
    if (found == waiting_.end()) return;
    const Request admitted = found->second;
    waiting_.erase(found);
    of(admitted.client).port->admit(admitted.number);
  }

  void forget_requests(ClientId client) {
    std::erase_if(waiting_, [&](const auto& waits) { return waits.second.client == client; });
  }

  void intercept(ClientId id) {
    Client& client = of(id);
    if (client.allowed == kIntercepted && !client.closing) return;
    forget_requests(id);
    // Numbers that were given until now are about an earlier interception.
    seen_of(id).asked = client.port->look().asked;
    permit(id, kIntercepted);
  }

  // ---

  bool impatient() override {
    return std::any_of(clients_seen_.begin(), clients_seen_.end(),
                       [](const Seen& seen) { return seen.sample.has_value(); });
  }

  // Who is intercepted is held up by every look that comes late.
  bool alert() const override {
    return std::any_of(clients_.begin(), clients_.end(), [](const Client& client) {
      return client.port != nullptr && client.allowed == kIntercepted && (client.seen.job & 1) != 0;
    });
  }

  void access(ClientId client, Access access) override {
    if (!is_there(client)) return;
    seen_of(client).fresh = false;
    switch (access) {
      case Access::direct:
        forget_requests(client);
        return permit(client, kUnlimited);
      case Access::deny:
        forget_requests(client);
        return close(client);
      case Access::intercept:
        return intercept(client);
    }
  }

  void drain(ClientId client) override {
    if (!is_there(client)) return;
    close(client);
    seen_of(client).draining = true;
    if (!of(client).closing || closed(client, true)) drained(client, {});
  }

  void watch(Duration limit) override { limit_ = limit; }
  void grant(ClientId client, std::int64_t channels) override {
    if (!is_there(client)) return;
    if (channels > 0 || !settings_.holds_refused) return of(client).port->limit(channels);
    seen_of(client).fresh = false;
    journal_.note(now(), Step::refused, client, 0);
  }

  Seen& seen_of(ClientId client) { return clients_seen_[client.index]; }

  const bool counts_use_;
  std::vector<Seen> clients_seen_;
  std::map<RequestId, Request> waiting_;
  std::uint64_t requests_ = 0;
  Time counted_;
};

}  // namespace

std::unique_ptr<Conductor> access_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                            Journal& journal) {
  return std::make_unique<AccessConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
