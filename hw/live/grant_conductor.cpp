#include <algorithm>

#include "hw/live/families.hpp"
#include "hw/live/job_conductor.hpp"

namespace gangway::live {
namespace {

class GrantConductor : public JobConductor {
 public:
  GrantConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : JobConductor(std::move(policy), settings, journal, GrantOf::job), gpus_(settings.gpus) {
    for (std::uint32_t g = 0; g < settings.gpus; ++g) gpus_[g].id = {g};
  }

 private:
  // The grant on the device, as its owner's gate goes.
  struct Owner {
    enum Phase { opening, running, evicting } phase = opening;
    Time began;  // the gate opened
    Time busy;   // when something of it was last seen on the device
    Time asked;  // when its helper was last asked to look
    Time moved;  // when it last submitted something, or nobody waited
    std::uint64_t submissions = 0;
  };
  struct Gpu {
    DeviceId id;
    std::optional<Owner> owner;
    // Whose gate is still open though its job is over: the next is often its own.
    std::optional<ClientId> parked;
  };

  void came(ClientId client) override {
    jobs_[client.index] = {};
    limit_again();
  }

  void went(ClientId client) override {
    Gpu& gpu = gpu_of(client);
    if (gpu.parked == client) gpu.parked.reset();
    if (owns(client)) leave(gpu, Why::killed, true);
    jobs_[client.index].told = false;
    limit_again();
  }

  void reprioritised() override { limit_again(); }

  void gather() override {
    for (Gpu& gpu : gpus_) {
      if (gpu.parked && of(*gpu.parked).closing && closed(*gpu.parked, !settings_.overlap))
        gpu.parked.reset();
      if (gpu.owner) look_at_owner(gpu);
    }
    for (Client& client : clients_)
      if (client.port != nullptr && !owns(client.id)) look_at_job(client);
  }

  void decided() override {
    for (const Gpu& gpu : gpus_) {
      const bool runs = gpu.owner && gpu.owner->phase == Owner::running;
      limit_jobs(runs ? std::optional(owner_client(gpu)) : gpu.owner ? std::nullopt : gpu.parked);
    }
  }

  void describe(JobFacts& job, const Client& client) const override {
    job.work.alone = client.alone;
    if (settings_.gpus > 1) job.gpus = GpuSet{client.gpu};
  }

  void look_at_owner(Gpu& gpu) {
    const ClientId id = owner_client(gpu);
    Client& client = of(id);
    if (gpu.owner->phase == Owner::opening) {
      if (!gpu.parked || gpu.parked == id) give_permit(gpu);
      return;
    }
    if (gpu.owner->phase == Owner::evicting) {
      if (closed(id, !settings_.overlap)) leave(gpu, Why::evicted, job_over(client));
      return;
    }
    Owner& owner = *gpu.owner;
    if (client.seen.busy()) owner.busy = now();
    if (client.seen.submissions != owner.submissions || !others_wait(gpu)) {
      owner.submissions = client.seen.submissions;
      owner.moved = now();
    } else if (now() - owner.moved > settings_.drain_limit) {
      owner.moved = now();
      if (given_up(id)) return leave(gpu, Why::idle, job_over(client));
    }
    if (job_over(client) && goes_on_outside(gpu, client)) return;
    if (job_over(client) || lingers(gpu)) {
      gpu.parked = id;
      leave(gpu, job_over(client) ? Why::completed : Why::idle, job_over(client));
    } else if (others_wait(gpu) && now() - owner.asked > settings_.linger) {
      owner.asked = now();
      client.port->ask();
    }
  }

  Gpu& gpu_of(ClientId client) { return gpus_[of(client).gpu.index]; }
  ClientId owner_client(const Gpu& gpu) { return grants_.on(gpu.id)->job.client; }
  bool owns(ClientId client) {
    const Gpu& gpu = gpu_of(client);
    return gpu.owner && owner_client(gpu) == client;
  }
  Duration linger() const {
    if (!settings_.linger_grows || settings_.memory == nullptr) return settings_.linger;
    return std::max(settings_.linger, Duration{settings_.memory->moves().ns / 10});
  }
  bool lingers(const Gpu& gpu) { return others_wait(gpu) && now() - gpu.owner->busy > linger(); }

  // What lies outside a program's ranges ends with each synchronisation (a copy of a few bytes). Where the
  // next owner's memory has to come, that would be a move each time: so it ends with a pause, or with a
  // range.
  bool goes_on_outside(const Gpu& gpu, const Client& client) {
    if (settings_.memory == nullptr || !client.seen.outside || !others_wait(gpu)) return false;
    if ((client.seen.job & 1) == 0) return now() - gpu.owner->busy <= linger();
    granted(client);
    return true;
  }

  bool others_wait(const Gpu& gpu) { return JobConductor::others_wait(owner_client(gpu)); }

  void leave(Gpu& gpu, Why why, bool over) {
    Grant& grant = *grants_.on(gpu.id);
    if (gpu.owner->phase != Owner::opening)
      grant.served = (why == Why::idle ? gpu.owner->busy : now()) - gpu.owner->began;
    if (over) jobs_[grant.job.client.index].told = false;
    tell(grants_.end(gpu.id, why, over, why == Why::evicted && !over));
    gpu.owner.reset();
  }

  LaunchId launch(JobId job, DeviceId on, std::optional<BlockRange> range) override {
    if (range) impossible("a launch of block-tasks under grants of whole jobs");
    if (const std::string why = grants_.refusal(job, on); !why.empty()) impossible(why);
    const LaunchId id = grants_.give({++launches_}, job, on).id;
    Gpu& gpu = gpus_[on.index];
    gpu.owner = Owner{Owner::opening, now(), now(), now(), now(), 0};
    Client& client = of(job.client);
    if ((client.seen.job & 1) == 0) {
      leave(gpu, Why::completed, true);  // it was over before its turn
      return id;
    }
    granted(client);
    if (gpu.parked && gpu.parked != job.client) {
      close(*gpu.parked);
      if (closed(*gpu.parked, !settings_.overlap)) gpu.parked.reset();
    }
    if (!gpu.parked || gpu.parked == job.client) give_permit(gpu);
    return id;
  }

  void give_permit(Gpu& gpu) {
    gpu.parked.reset();
    Owner& owner = *gpu.owner;
    owner.phase = Owner::running;
    owner.began = owner.busy = owner.asked = owner.moved = now();
    const Grant& grant = *grants_.on(gpu.id);
    permit(grant.job.client, most_of(grant.job.client), last_job(grant.job.client));
    tell(Started{grant.id, grant.job});
  }

  void evict(LaunchId launch) override {
    const Grant* grant = grants_.find(launch);
    if (grant == nullptr) return;
    Gpu& gpu = gpus_[grant->gpu.index];
    if (gpu.owner->phase == Owner::evicting) return;
    if (gpu.owner->phase == Owner::opening) return leave(gpu, Why::evicted, false);
    const ClientId client = grant->job.client;
    gpu.owner->phase = Owner::evicting;
    close(client);
    journal_.note(now(), Step::evicted, client, 0);  // to write it down takes microseconds
    if (closed(client, !settings_.overlap)) leave(gpu, Why::evicted, job_over(of(client)));
  }

  void restore(JobId job, DeviceId gpu, BlockRange blocks) override {
    if (settings_.memory == nullptr) return RefusingOrders::restore(job, gpu, blocks);
    if (is_there(job.client)) settings_.memory->restore(job.client);
  }
  void save(JobId job, DeviceId gpu) override {
    if (settings_.memory == nullptr) return RefusingOrders::save(job, gpu);
    if (!is_there(job.client)) return;
    settings_.memory->save(job.client);  // once nothing of it is on the device
    std::optional<ClientId>& parked = gpus_[gpu.index].parked;
    if (parked != job.client) return;
    close(*parked);
    if (closed(*parked, true)) parked.reset();
  }

  // `in_flight` is the price of being displaced soon, so only who can be displaced pays it.
  std::uint32_t most_of(ClientId client) const {
    if (settings_.in_flight == 0) return kUnlimited;
    const Client& own = clients_[client.index];
    for (const Client& other : clients_)
      if (other.port != nullptr && other.gpu == own.gpu && other.priority > own.priority)
        return settings_.in_flight;
    return kUnlimited;
  }
  void limit_again() {
    for (std::uint32_t c = 0; c < kMostClients; ++c)
      if (clients_[c].port != nullptr && clients_[c].allowed != 0 && !clients_[c].closing)
        permit(clients_[c].id, most_of(clients_[c].id), clients_[c].last_job);
  }

  // While somebody waits for an owner, only looking tells when its job is over.
  bool impatient() override {
    return std::any_of(gpus_.begin(), gpus_.end(), [this](const Gpu& gpu) {
      return gpu.owner && (gpu.owner->phase != Owner::running || others_wait(gpu));
    });
  }

  bool alert() const override {
    return std::any_of(gpus_.begin(), gpus_.end(), [this](const Gpu& gpu) {
      std::size_t there = 0, working = 0;
      for (const Client& client : clients_) {
        if (client.port == nullptr || client.gpu != gpu.id) continue;
        ++there;
        working += (client.seen.job & 1) != 0 ? 1 : 0;
      }
      return there > 1 && working > 0;
    });
  }

  std::vector<Gpu> gpus_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Conductor> grant_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal) {
  return std::make_unique<GrantConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
