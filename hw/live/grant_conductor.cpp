#include "hw/live/families.hpp"

namespace gangway::live {
namespace {

class GrantConductor : public Conductor {
 public:
  GrantConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : Conductor(std::move(policy), settings, journal), jobs_(kMostClients) {}

 private:
  static constexpr DeviceId kGpu{0};

  // What the policy knows of a client's job.
  struct Told {
    bool told = false;      // Arrived, and not over yet
    std::uint64_t job = 0;  // on the client's page
    std::uint32_t jobs = 0;
  };
  // The grant on the device, as its owner's gate goes.
  struct Owner {
    enum Phase { opening, running, evicting } phase = opening;
    Time began;  // the gate opened
    Time busy;   // when something of it was last seen on the device
    Time asked;  // when its helper was last asked to look
    Time moved;  // when it last submitted something, or nobody waited
    std::uint64_t submissions = 0;
  };

  void came(ClientId client) override {
    jobs_[client.index] = {};
    limit_again();
  }

  void went(ClientId client) override {
    if (parked_ == client) parked_.reset();
    if (owner_ && owner_client() == client) leave(Why::killed, true);
    jobs_[client.index].told = false;
    limit_again();
  }

  void reprioritised() override { limit_again(); }

  void gather() override {
    if (parked_ && of(*parked_).closing && closed(*parked_, !settings_.overlap)) parked_.reset();
    if (owner_) look_at_owner();
    for (Client& client : clients_)
      if (client.port != nullptr && !(owner_ && owner_client() == client.id)) look_at_job(client);
  }

  // Of a client that does not own the device.
  void look_at_job(const Client& client) {
    Told& job = jobs_[client.id.index];
    const JobFacts& known = grants_.job_of(client.id);
    // Without a grant its job can end all the same, by a drain that went on to its end, or of a gate that had
    // nobody to close it. While the policy waits to launch it, launch() will see.
    if (job.told && client.seen.job != job.job && !grants_.waits(known.id)) {
      grants_.over(known.id);
      job.told = false;
    }
    if ((client.seen.job & 1) == 0 || client.unconfirmed) return;
    if (!job.told) {
      arrive(client, job);
    } else if (!grants_.waits(known.id) &&
               (client.seen.waiting || client.seen.away != 0 || !client.seen.drained())) {
      grants_.returned(known.id);
      tell(Arrived{known.id});
    }
  }

  void arrive(const Client& client, Told& job) {
    job.told = true;
    job.job = client.seen.job;
    JobFacts facts;
    facts.id = {client.id, job.jobs++};
    facts.priority = client.priority;
    facts.weight = client.weight;
    facts.work.alone = client.alone;
    facts.attributes = client.attributes;
    if (client.slo) facts.deadline = now() - client.seen.since_arrival + *client.slo;
    grants_.arrived(facts, now());
    tell(Arrived{facts.id});
  }

  void look_at_owner() {
    const ClientId id = owner_client();
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
    if (client.seen.submissions != owner_->submissions || !others_wait()) {
      owner_->submissions = client.seen.submissions;
      owner_->moved = now();
    } else if (now() - owner_->moved > settings_.drain_limit) {
      owner_->moved = now();
      if (given_up(id)) return leave(Why::idle, job_over(client));
    }
    if (job_over(client) || lingers()) {
      parked_ = id;
      leave(job_over(client) ? Why::completed : Why::idle, job_over(client));
    } else if (others_wait() && now() - owner_->asked > settings_.linger) {
      owner_->asked = now();
      client.port->ask();
    }
  }

  ClientId owner_client() { return grants_.on(kGpu)->job.client; }
  bool job_over(const Client& client) const {
    return client.port == nullptr || client.seen.job != jobs_[client.id.index].job;
  }
  bool lingers() { return others_wait() && now() - owner_->busy > settings_.linger; }

  bool others_wait() {
    for (const Client& client : clients_)
      if (client.port != nullptr && client.id != owner_client() &&
          grants_.waits(grants_.job_of(client.id).id))
        return true;
    return false;
  }

  void leave(Why why, bool over) {
    Grant& grant = *grants_.on(kGpu);
    if (owner_->phase != Owner::opening)
      grant.served = (why == Why::idle ? owner_->busy : now()) - owner_->began;
    if (over) jobs_[grant.job.client.index].told = false;
    tell(grants_.end(kGpu, why, over, why == Why::evicted && !over));
    owner_.reset();
  }

  LaunchId launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) override {
    if (range) impossible("a launch of block-tasks under grants of whole jobs");
    if (const std::string why = grants_.refusal(job, gpu); !why.empty()) impossible(why);
    const LaunchId id = grants_.give({++launches_}, job, gpu).id;
    owner_ = Owner{Owner::opening, now(), now(), now(), now(), 0};
    Client& client = of(job.client);
    if ((client.seen.job & 1) == 0) {
      leave(Why::completed, true);  // it was over before its turn
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
    owner_->began = owner_->busy = owner_->asked = owner_->moved = now();
    const Grant& grant = *grants_.on(kGpu);
    permit(grant.job.client, most_of(grant.job.client));
    tell(Started{grant.id, grant.job});
  }

  void evict(LaunchId launch) override {
    const Grant* grant = grants_.find(launch);
    if (grant == nullptr || owner_->phase == Owner::evicting) return;
    if (owner_->phase == Owner::opening) return leave(Why::evicted, false);
    const ClientId client = grant->job.client;
    journal_.note(now(), Step::evicted, client, 0);
    owner_->phase = Owner::evicting;
    close(client);
    if (closed(client, !settings_.overlap)) leave(Why::evicted, job_over(of(client)));
  }

  void restore(JobId job, DeviceId gpu, BlockRange blocks) override {
    if (settings_.memory == nullptr) return RefusingOrders::restore(job, gpu, blocks);
    if (is_there(job.client)) settings_.memory->restore(job.client);
  }
  void save(JobId job, DeviceId gpu) override {
    if (settings_.memory == nullptr) return RefusingOrders::save(job, gpu);
    if (!is_there(job.client)) return;
    settings_.memory->save(job.client);  // once nothing of it is on the device
    if (parked_ != job.client) return;
    close(*parked_);
    if (closed(*parked_, true)) parked_.reset();
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
        permit(clients_[c].id, most_of(clients_[c].id));
  }

  // While somebody waits for the owner, only looking tells when its job is over.
  bool impatient() override { return owner_ && (owner_->phase != Owner::running || others_wait()); }

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

std::unique_ptr<Conductor> grant_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal) {
  return std::make_unique<GrantConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
