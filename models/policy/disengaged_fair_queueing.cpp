// NEON's Disengaged Fair Queueing (3.3): clients use the device freely for most of the time; now and then all
// are held back, those that used it are sampled one by one, and from that it follows who has had how much and
// who has to wait for the others. models/policy/README.md says what the paper leaves open.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/policy/access.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

using namespace literals;

// Who gets just what it asks for is not low, whatever the last bit of a division says.
constexpr double kRounding = 1e-9;

class DisengagedFairQueueing : public AccessPolicy {
 public:
  explicit DisengagedFairQueueing(const ParameterValues& values)
      : AccessPolicy(values),
        window_(values.duration("sampling")),
        requests_(values.integer("requests")),
        requests_mixed_(values.integer("requests_mixed")),
        free_run_(values.number("free_run")),
        vendor_(values.choice("statistics") == "vendor"),
        low_demand_(values.choice("forward") == "low-demand"),
        subset_(values.integer("subset")),
        randomise_(values.number("randomise")),
        free_alone_(AccessPolicy::free_alone(values)) {}

  static std::vector<Parameter> parameters() {
    return with_protection(
        {{"sampling", "longest sampling of a client", Parameter::Time{5_ms, 1_us, 10_s}},
         {"requests", "sampling of a client ends after this many requests",
          Parameter::Integer{32, 1, 1'000'000}},
         {"requests_mixed", "the same for a client with several channels; a program counts as having one",
          Parameter::Integer{96, 1, 1'000'000}},
         {"free_run", "length of the free run, in sampling windows of all sampled clients",
          Parameter::Number{5, 0.1, 1000}},
         {"statistics", "source of clients' usage: sampling, or the device",
          Parameter::Choice{{"sampled", "vendor"}}},
         {"forward",
          "whose virtual time is brought forward to the system's: also that of who asks for less than its "
          "share, or "
          "only of who was idle",
          Parameter::Choice{{"low-demand", "idle"}}},
         {"subset", "sample at most this many clients, drawn anew each time; 0: all",
          Parameter::Integer{0, 0, 1'000'000}},
         {"randomise", "windows and free runs vary at random by up to this share",
          Parameter::Number{0, 0, 0.9}},
         alone()});
  }

  Capabilities needs() const override {
    return {Capability::access, Capability::intercept, Capability::sampling};
  }
  void seed(const Stream& random) override { random_ = random; }

 private:
  enum class Phase { idle, free, draining, sampling };

  struct Account {
    std::int64_t channels = 1;
    bool used = false, pending = false;  // in the last free run; once drained
    bool outstanding = false;            // at its end
    Time drained = Time::max();
    bool denied = false;      // the last free run
    bool low = false;         // it asked for less in it than it could have had
    double size = 0;          // mean length of its requests, as sampled last
    double demand = 1;        // the share of its time with the device to itself that it uses it
    double usage = 0;         // of the device, in the last free run
    double virtual_time = 0;  // ns

    // It has used the free run, or waits since before it; who waits since then has just come.
    bool active() const { return used || (pending && denied); }
  };

  void begun(Time, Orders&) override {}
  void heard(Time now, const Fact& fact) override;
  void act(Time now, const View&, Orders& orders) override;
  void heard_sampled(const Sampled& sampled);

  void engage(Orders& orders);
  void choose_samples();
  void sample(ClientId client, Orders& orders);
  void charge_by_size();
  void advance_virtual_time();
  void disengage(Time now, Orders& orders);
  void run_on_alone(Time now, Orders& orders);
  double reached() const;
  Duration drawn(double length);
  Account& of(ClientId client) { return accounts_[client.index]; }

  Duration window_;
  std::int64_t requests_, requests_mixed_;
  double free_run_;
  bool vendor_, low_demand_;
  std::int64_t subset_;
  double randomise_;
  bool free_alone_;
  Stream random_{0, "", {}};

  Phase phase_ = Phase::idle;
  std::vector<Account> accounts_;  // by client
  double system_time_ = 0;
  std::vector<ClientId> newcomers_;  // of this instant
  std::vector<ClientId> draining_;
  std::vector<ClientId> to_sample_;  // the last one first
  std::optional<ClientId> sampling_;
  std::optional<TimerId> timer_;
  bool timer_due_ = false;
  Time free_since_;
  Duration shared_;          // the last free run, until nothing was on the device any more
  std::size_t sampled_ = 0;  // clients in this engagement
};

void DisengagedFairQueueing::heard(Time now, const Fact& fact) {
  if (const auto* opens = std::get_if<Opens>(&fact)) {
    if (opens->client.index >= accounts_.size()) accounts_.resize(opens->client.index + 1);
    of(opens->client) = {};
    of(opens->client).channels = opens->channels;
    of(opens->client).virtual_time = system_time_;
    newcomers_.push_back(opens->client);
  } else if (const auto* exited = std::get_if<Exited>(&fact)) {
    std::erase(draining_, exited->client);
    std::erase(to_sample_, exited->client);
    if (sampling_ == exited->client) sampling_.reset();
  } else if (const auto* timer = std::get_if<Timer>(&fact)) {
    timer_due_ = timer_ == timer->timer;
  } else if (const auto* drained = std::get_if<Drained>(&fact)) {
    of(drained->client).outstanding = drained->overrun > Duration{};
    of(drained->client).drained = now;
    std::erase(draining_, drained->client);
  } else if (const auto* sampled = std::get_if<Sampled>(&fact)) {
    heard_sampled(*sampled);
  } else if (const auto* activity = std::get_if<Activity>(&fact)) {
    Account& account = of(activity->client);
    if (account.drained == now) account.pending = activity->pending;  // later ones have just come
    if (phase_ != Phase::draining) return;
    account.used = account.used || activity->used;
    account.usage += static_cast<double>(std::min(activity->usage, now - free_since_).ns);
  }
}

void DisengagedFairQueueing::heard_sampled(const Sampled& sampled) {
  Account& account = of(sampled.client);
  const auto busy = static_cast<double>(sampled.busy.ns), span = static_cast<double>(sampled.span.ns);
  if (sampled.requests > 0) account.size = busy / static_cast<double>(sampled.requests);
  account.demand = span > 0 ? std::min(1.0, busy / span) : 1;
  account.virtual_time += busy;
  sampling_.reset();
}

void DisengagedFairQueueing::act(Time now, const View&, Orders& orders) {
  const bool engaged = phase_ == Phase::draining || phase_ == Phase::sampling;
  for (const ClientId client : newcomers_) {
    if (engaged) orders.access(client, Access::deny);
  }
  newcomers_.clear();
  if (present().empty()) {
    if (timer_) orders.cancel(*std::exchange(timer_, std::nullopt));
    phase_ = Phase::idle;
  } else if (phase_ == Phase::idle) {
    sampled_ = 0;
    disengage(now, orders);
  }
  if (phase_ == Phase::free && timer_due_) {
    if (free_alone_ && one_is_present())
      run_on_alone(now, orders);
    else
      engage(orders);
  }
  timer_due_ = false;
  if (phase_ == Phase::draining && draining_.empty()) {
    shared_ = now - free_since_;
    choose_samples();
    phase_ = Phase::sampling;
  }
  if (phase_ != Phase::sampling || sampling_) return;
  if (!to_sample_.empty()) {
    ++sampled_;
    sampling_ = to_sample_.back();
    to_sample_.pop_back();
    return sample(*sampling_, orders);
  }
  if (!vendor_) charge_by_size();
  advance_virtual_time();
  disengage(now, orders);
}

// Nobody is owed anything.
void DisengagedFairQueueing::run_on_alone(Time now, Orders& orders) {
  system_time_ = std::max(system_time_, of(present().front()).virtual_time);
  disengage(now, orders);
}

// The barrier, and what is on the device runs out.
void DisengagedFairQueueing::engage(Orders& orders) {
  timer_.reset();
  phase_ = Phase::draining;
  draining_ = present();
  for (const ClientId client : present()) {
    of(client).used = false;
    of(client).usage = 0;
    orders.access(client, Access::deny);
    orders.drain(client);
  }
}

// Who has used the device freely, in the order of the workload; of too many those that are drawn.
void DisengagedFairQueueing::choose_samples() {
  to_sample_.clear();
  for (const ClientId client : present())
    if (!vendor_ && of(client).used) to_sample_.push_back(client);
  while (subset_ > 0 && static_cast<std::int64_t>(to_sample_.size()) > subset_)
    to_sample_.erase(to_sample_.begin() + static_cast<std::ptrdiff_t>(random_.below(to_sample_.size())));
  std::reverse(to_sample_.begin(), to_sample_.end());
  sampled_ = 0;
}

void DisengagedFairQueueing::sample(ClientId client, Orders& orders) {
  orders.sample(client, drawn(static_cast<double>(window_.ns)),
                of(client).channels > 1 ? requests_mixed_ : requests_);
}

// The device serves clients in turn, so each has had it in proportion to the length of its requests, but not
// for longer than it uses a device that it has to itself.
void DisengagedFairQueueing::charge_by_size() {
  std::vector<Account*> open;
  for (const ClientId client : present()) {
    Account& account = of(client);
    account.usage = 0;
    account.low = account.used && account.size == 0;  // it has never been seen at work
    if (account.used && !account.low) open.push_back(&account);
  }
  const auto interval = static_cast<double>(shared_.ns);
  double left = interval;
  for (std::size_t before = open.size() + 1; before > open.size() && !open.empty();) {
    before = open.size();
    double sizes = 0;
    for (const Account* account : open) sizes += account->size;
    const double share = left / sizes;
    for (Account* account : open) {
      account->usage = std::min(account->size * share, account->demand * interval);
      account->low = account->size * share > account->demand * interval * (1 + kRounding);
    }
    for (const Account* account : open)
      if (account->low) left -= account->usage;
    std::erase_if(open, [](const Account* account) { return account->low; });
  }
}

void DisengagedFairQueueing::advance_virtual_time() {
  for (const ClientId client : present()) {
    Account& account = of(client);
    if (vendor_) account.low = !account.outstanding && !account.pending;
    if (account.active()) account.virtual_time += account.usage;
  }
  system_time_ = std::max(system_time_, reached());
  for (const ClientId client : present()) {
    Account& account = of(client);
    if (!account.active() || (low_demand_ && account.low))
      account.virtual_time = std::max(account.virtual_time, system_time_);
  }
}

// The least of those that wait for the device. If nobody does, nobody is owed anything, and it is the largest
// of all.
double DisengagedFairQueueing::reached() const {
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  for (const ClientId client : present()) {
    const Account& account = accounts_[client.index];
    largest = std::max(largest, account.virtual_time);
    if (account.active() && !(low_demand_ && account.low)) least = std::min(least, account.virtual_time);
  }
  return std::isinf(least) ? largest : least;
}

void DisengagedFairQueueing::disengage(Time now, Orders& orders) {
  const std::size_t users = vendor_ ? present().size() : sampled_;
  const double nominal =
      free_run_ * static_cast<double>(window_.ns) * static_cast<double>(std::max<std::size_t>(1, users));
  for (const ClientId client : present()) {
    Account& account = of(client);
    account.denied = account.virtual_time - system_time_ >= nominal;
    orders.access(client, account.denied ? Access::deny : Access::direct);
  }
  phase_ = Phase::free;
  free_since_ = now;
  timer_ = orders.wake_at(now + drawn(nominal));
}

Duration DisengagedFairQueueing::drawn(double length) {
  const double factor = randomise_ > 0 ? 1 + randomise_ * (2 * random_.uniform() - 1) : 1;
  return {std::max<std::int64_t>(1, std::llround(length * factor))};
}

const PolicyRegistration<DisengagedFairQueueing> registered_disengaged_fair_queueing{
    "disengaged-fair-queueing", "free use of the device; clients ahead of the others are denied",
    DisengagedFairQueueing::parameters()};

}  // namespace
}  // namespace gangway
