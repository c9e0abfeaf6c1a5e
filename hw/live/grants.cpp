#include <algorithm>
#include <array>

#include "hw/live/families.hpp"

namespace gangway::live {
namespace {

class GrantConductor : public Conductor {
 public:
  GrantConductor(std::unique_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : Conductor(std::move(policy), settings, journal), jobs_(kMostClients) {}

 private:
  // What the policy knows of a client's job.
  struct Told {
    bool told = false;      // Arrived, and not over yet
    std::uint64_t job = 0;  // on the client's page
  };
  struct Owner {
    LaunchId launch;
    JobId job;
    enum Phase { opening, running, evicting } phase = opening;
    Time busy;   // when something of it was last seen on the device
    Time asked;  // when its helper was last asked to look
  };

  void came(ClientId client) override {
    jobs_[client.index] = {};
    limit_again();
  }

  void went(ClientId client) override {
    if (parked_ == client) parked_.reset();
    if (owner_ && owner_->job.client == client) leave(Why::killed, true);
    limit_again();
  }

  bool known(ClientId client) const override { return jobs_[client.index].told; }

  void gather() override {
    if (parked_ && of(*parked_).closing && closed(*parked_, !settings_.overlap)) parked_.reset();
    if (owner_) look_at_owner();
    for (std::uint32_t c = 0; c < kMostClients; ++c) {
      const Client& client = clients_[c];
      if (client.port == nullptr || (client.seen.job & 1) == 0 || jobs_[c].told) continue;
      jobs_[c] = {true, client.seen.job};
      JobFacts& facts = view_.job(c);
      ++facts.id.number;
      facts.arrived = now();
      facts.kernel = 0;
      facts.done = {};
      tell(Arrived{facts.id});
    }
  }

  void look_at_owner() {
    const ClientId id = owner_->job.client;
    Client& client = of(id);
    if (owner_->phase == Owner::opening) {
      if (!parked_ || parked_ == id) give_permit();
      return;
    }
    if (owner_->phase == Owner::evicting) {
      if (closed(id, !settings_.overlap)) leave(Why::evicted, job_over(client));
      return;
    }
    if (!client.seen.drained() || client.seen.waiting) owner_->busy = now();
    if (job_over(client) || lingers()) {
      parked_ = id;
      leave(Why::completed, true);
    } else if (others_wait() && now() - owner_->asked > settings_.linger) {
      owner_->asked = now();
      client.port->ask();
    }
  }

  bool job_over(const Client& client) const {
    return client.port == nullptr || client.seen.job != jobs_[owner_->job.client.index].job;
  }
  bool lingers() const { return others_wait() && now() - owner_->busy > settings_.linger; }

  bool others_wait() const {
    for (std::uint32_t c = 0; c < kMostClients; ++c)
      if (jobs_[c].told && clients_[c].port != nullptr && owner_->job.client.index != c) return true;
    return false;
  }

  void leave(Why why, bool over) {
    const JobId job = owner_->job;
    JobFacts& facts = view_.job(job.client.index);
    facts.done = {over ? 1 : 0};
    facts.kernel = over ? 1 : 0;
    tell(Left{owner_->launch, job, over && why == Why::evicted ? Why::completed : why, facts.done, over});
    if (over) jobs_[job.client.index].told = false;
    owner_.reset();
  }

  LaunchId launch(JobId job, DeviceId, BlockRange) override {
    if (owner_) impossible("a launch while another owns the device");
    const Client& client = of(job.client);
    owner_ = Owner{{++launches_}, job, Owner::opening, now(), now()};
    const LaunchId id = owner_->launch;
    if (client.port == nullptr || (client.seen.job & 1) == 0) {
      leave(client.port == nullptr ? Why::killed : Why::completed, true);  // it was over before its turn
      return id;
    }
    jobs_[job.client.index].job = client.seen.job;
    if (parked_ && parked_ != job.client) {
      close(*parked_);
      if (closed(*parked_, !settings_.overlap)) parked_.reset();
    }
    if (!parked_ || parked_ == job.client) give_permit();
    return id;
  }

  void give_permit() {
    parked_.reset();
    owner_->phase = Owner::running;
    owner_->busy = owner_->asked = now();
    permit(owner_->job.client, most_of(owner_->job.client));
    tell(Started{owner_->launch, owner_->job});
  }

  void evict(LaunchId launch) override {
    if (!owner_ || owner_->launch != launch || owner_->phase == Owner::evicting) return;
    if (owner_->phase == Owner::opening) return leave(Why::evicted, false);
    owner_->phase = Owner::evicting;
    close(owner_->job.client);
    if (closed(owner_->job.client, !settings_.overlap)) leave(Why::evicted, job_over(of(owner_->job.client)));
  }

  // `in_flight` is the price of being displaced soon, so only who can be displaced pays it.
  std::uint32_t most_of(ClientId client) const {
    if (settings_.in_flight == 0) return kUnlimited;
    for (const Client& other : clients_)
      if (other.port != nullptr && other.priority > clients_[client.index].priority)
        return settings_.in_flight;
    return kUnlimited;
  }
  void limit_again() {
    for (std::uint32_t c = 0; c < kMostClients; ++c)
      if (clients_[c].port != nullptr && clients_[c].allowed != 0 && !clients_[c].closing)
        permit({c}, most_of({c}));
  }

  // While somebody waits for the owner, only looking tells when its job is over.
  bool impatient() const override { return owner_ && (owner_->phase != Owner::running || others_wait()); }

  bool alert() const override {
    std::size_t there = 0, working = 0;
    for (const Client& client : clients_) {
      there += client.port != nullptr ? 1 : 0;
      working += client.port != nullptr && (client.seen.job & 1) != 0 ? 1 : 0;
    }
    return there > 1 && working > 0;
  }

  std::vector<Told> jobs_;
  std::optional<Owner> owner_;
  // Whose gate is still open though its job is over: the next is often its own.
  std::optional<ClientId> parked_;
  std::uint64_t launches_ = 0;
};

}  // namespace

bool grants_whole_jobs(const std::string& policy) {
  constexpr std::array kNames{"piv", "fcfs", "rr"};
  return std::find(kNames.begin(), kNames.end(), policy) != kNames.end();
}

std::unique_ptr<Conductor> grant_conductor(std::unique_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal) {
  return std::make_unique<GrantConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
