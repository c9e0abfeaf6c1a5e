// Slicing policies over live clients. A client's kernels that can be cut are told one by one, when their
// streams come to them; a launch is a range of such a kernel's blocks. Everything else that a job submits is
// one block-task, for which the gate opens: until a kernel to be cut comes, the job is over or idle, or, if
// others wait, until what has passed is over. A slice for which others have waited for long enough has given
// way: they go on beside what is left of it.
#include <algorithm>
#include <map>

#include "hw/live/families.hpp"
#include "hw/live/job_conductor.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kLongerThanKnown = 4;  // times; then a slice has given way
constexpr std::size_t kMostKernels = 1024;    // of a client, that policies tell apart

KernelFacts facts_of(BlockCount blocks, BlockCount resident, std::uint32_t place) {
  KernelFacts facts;
  facts.block_tasks = blocks;
  facts.resident = resident;
  facts.same_as = place;
  return facts;
}

class RangeConductor : public JobConductor {
 public:
  RangeConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : JobConductor(std::move(policy), settings, journal, GrantOf::kernel),
        kernels_(kMostClients),
        stays_(kMostClients) {}

  bool slices() const override { return true; }

 private:
  static constexpr DeviceId kOnly{0};

  // What the policy knows of a client's kernels.
  struct Kernels {
    std::uint32_t current = 0;  // the kernel's number; 0: whatever else it submits
    std::uint32_t over = 0;     // number of the latest kernel that is
    std::vector<KernelFacts> kernels = {};
    std::map<std::uint32_t, std::uint32_t> places = {};  // of kernels among these
  };
  // What is on the device, as its owner's gate goes.
  struct Owner {
    enum Phase { opening, running, closing } phase = opening;
    std::uint32_t kernel = 0;  // as Kernels::current
    BlockCount blocks, last;   // of the kernel; of this launch
    Time began, busy, asked, moved;
    Time stood;  // since when others have waited for this slice
    BlockCount done;
    std::uint64_t submissions = 0;
  };

  // A slice that has given way: it is not launched again before then, unless it goes on.
  struct Stays {
    std::uint32_t kernel = 0;  // its number
    BlockCount done;
    Time until;
  };

  Kernels& kernels_of(ClientId client) { return kernels_[client.index]; }

  void came(ClientId client) override {
    jobs_[client.index] = {};
    kernels_of(client) = {};
    stays_[client.index] = {};
  }

  void went(ClientId client) override {
    if (parked_ == client) parked_.reset();
    if (owner_ && owner_client() == client) leave(Why::killed, {}, true);
    jobs_[client.index].told = false;
  }

  void gather() override {
    if (parked_ && of(*parked_).closing && has_closed(*parked_)) parked_.reset();
    if (owner_) look_at_owner();
    for (Client& client : clients_)
      if (client.port != nullptr && !(owner_ && owner_client() == client.id)) look_at_job(client);
  }

  // --- Jobs and their kernels

  // The kernel to be cut that the client stands before.
  const SlicedStanding* cut(const Client& client) const {
    const auto& slices = client.seen.slices;
    return slices && slices->number != kernels_[client.id.index].over ? &*slices : nullptr;
  }

  void about_to_tell(const Client& client) override {
    Kernels& its = kernels_of(client.id);
    if (its.kernels.empty()) its.kernels.push_back(facts_of({1}, {1}, 0));
    its.current = 0;
    std::uint32_t place = 0;
    BlockCount done;
    if (const SlicedStanding* kernel = cut(client)) {
      place = place_of(its, kernel->kernel);
      its.kernels[place] = facts_of(kernel->blocks, kernel->resident, place);
      its.kernels[place].declared = kernel->time;
      its.current = kernel->number;
      done = kernel->done;
    }
    its.kernels[place].priority = client.priority;
    grants_.kernel(client.id, its.kernels, place, done);
  }

  static std::uint32_t place_of(Kernels& its, std::uint32_t kernel) {
    if (const auto known = its.places.find(kernel); known != its.places.end()) return known->second;
    if (its.kernels.size() < kMostKernels) its.kernels.emplace_back();
    const auto place = static_cast<std::uint32_t>(its.kernels.size() - 1);
    if (its.places.size() < kMostKernels) its.places[kernel] = place;
    return place;
  }

  bool can_be_launched(const Client& client) const override {
    return client.port != nullptr && !stays(client) &&
           (cut(client) != nullptr || JobConductor::can_be_launched(client));
  }

  bool stays(const Client& client) const {
    const Stays& its = stays_[client.id.index];
    const SlicedStanding* const kernel = cut(client);
    return now() < its.until && kernel != nullptr && kernel->number == its.kernel && kernel->done == its.done;
  }

  Duration look_within() const override {
    Duration within = Duration::max();
    for (const Client& client : clients_)
      if (client.port != nullptr && stays(client))
        within = std::min(within, stays_[client.id.index].until - now());
    return within;
  }

  // --- The owner

  ClientId owner_client() { return grants_.on(kOnly)->job.client; }

  bool others_wait() { return JobConductor::others_wait(owner_client()); }

  void decided() override {
    const bool runs = owner_ && owner_->phase == Owner::running;
    limit_jobs(runs ? std::optional(owner_client()) : owner_ ? std::nullopt : parked_);
  }

  void look_at_owner() {
    const ClientId id = owner_client();
    Client& client = of(id);
    if (owner_->phase == Owner::opening) {
      if (!parked_ || parked_ == id) give_permit();
    } else if (owner_->phase == Owner::closing) {
      if (has_closed(id)) leave(Why::completed, {1}, job_over(client));
    } else if (job_over(client)) {
      if (owner_->kernel != 0) journal_.note(now(), Step::sliced, id, owner_->blocks.count);
      leave_open(id, Why::completed, owner_->blocks, true);
    } else if (owner_->kernel != 0) {
      look_at_range(client);
    } else {
      look_at_rest(client);
    }
  }

  void look_at_range(Client& client) {
    const SlicedStanding* const kernel = cut(client);
    const bool over = kernel == nullptr || kernel->number != owner_->kernel;
    const BlockCount done = over ? owner_->blocks : kernel->done;
    if (over || done >= owner_->last) {
      journal_.note(now(), Step::sliced, client.id, done.count);
      if (over) kernels_of(client.id).over = owner_->kernel;
      return leave_open(client.id, over ? Why::completed : Why::budget, done, false);
    }
    if (std::exchange(owner_->done, done) != done || !others_wait()) owner_->moved = owner_->stood = now();
    if (stands_still(client)) return leave(Why::budget, done, false);
    if (now() - owner_->stood <= longest(*kernel)) return;
    stays_[client.id.index] = {kernel->number, done, now() + settings_.drain_limit};
    journal_.note(now(), Step::stays, client.id, done.count);
    leave_open(client.id, Why::budget, done, false);
  }

  // That others wait for the slice under way.
  Duration longest(const SlicedStanding& kernel) const {
    if (!kernel.time) return settings_.drain_limit;
    const double part = static_cast<double>(owner_->last.count - owner_->done.count) /
                        static_cast<double>(owner_->blocks.count);
    return std::max(settings_.drain_limit,
                    Duration{static_cast<std::int64_t>(part * static_cast<double>(kernel.time->ns) *
                                                       static_cast<double>(kLongerThanKnown))});
  }

  void look_at_rest(Client& client) {
    if (cut(client) != nullptr) return leave_open(client.id, Why::completed, {1}, false);
    const Standing& seen = client.seen;
    if (seen.busy()) owner_->busy = now();
    if (!others_wait()) {
      owner_->submissions = seen.submissions;
      owner_->moved = now();
      return;
    }
    if (seen.submissions != owner_->submissions || (!seen.drained() && !seen.waiting)) {
      owner_->phase = Owner::closing;
      close(client.id);
      if (has_closed(client.id)) leave(Why::completed, {1}, job_over(client));
    } else if (stands_still(client)) {
      leave(Why::completed, {1}, false);
    } else if (now() - owner_->busy > settings_.linger) {
      leave_open(client.id, Why::completed, {1}, false);
    } else if (now() - owner_->asked > settings_.linger) {
      owner_->asked = now();
      client.port->ask();
    }
  }

  // Whoever has got its permit back goes on with all it has.
  bool has_closed(ClientId id) {
    if (closed(id, !settings_.overlap && !stays(of(id)))) return true;
    Client& client = of(id);
    const auto& kernel = client.seen.slices;
    if (client.returned && kernel)
      client.port->slice(kernel->number, static_cast<std::uint32_t>(kernel->blocks.count));
    return false;
  }

  // A stopped process keeps nobody waiting.
  bool stands_still(Client& client) {
    if (now() - owner_->moved <= settings_.drain_limit) return false;
    owner_->moved = now();
    return given_up(client.id);
  }

  // The gate stays open until another client is to have the device.
  void leave_open(ClientId client, Why why, BlockCount done, bool over) {
    parked_ = client;
    leave(why, done, over);
  }

  void leave(Why why, BlockCount done, bool over) {
    Grant& grant = *grants_.on(kOnly);
    const Client& client = of(grant.job.client);
    if (owner_->phase != Owner::opening) grant.served = now() - owner_->began;
    if (over) jobs_[client.id.index].told = false;
    const bool more = !over && why != Why::killed && !client.unconfirmed && can_be_launched(client);
    if (!over) about_to_tell(client);
    Left left = grants_.end(kOnly, why, over, more);
    left.done = done;
    tell(left);
    owner_.reset();
  }

  LaunchId launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) override {
    if (const std::string why = grants_.refusal(job, gpu); !why.empty()) impossible(why);
    const JobFacts& facts = grants_.job_of(job.client);
    const BlockCount blocks = facts.current().block_tasks;
    const BlockRange ordered = range.value_or(BlockRange{facts.done, blocks});
    if (ordered.first != facts.done || ordered.last <= ordered.first || ordered.last > blocks)
      impossible("block-tasks that do not begin at the work done, or end outside the grid");
    Client& client = of(job.client);
    const LaunchId id = grants_.give({++launches_}, job, gpu).id;
    owner_ = Owner{};
    owner_->kernel = kernels_of(job.client).current;
    owner_->blocks = blocks;
    owner_->last = ordered.last;
    owner_->done = ordered.first;
    if ((client.seen.job & 1) == 0) {
      leave(Why::completed, blocks, true);  // it was over before its turn
      return id;
    }
    granted(client);
    if (parked_ && parked_ != job.client) {
      close(*parked_);
      if (has_closed(*parked_)) parked_.reset();
    }
    if (!parked_ || parked_ == job.client) give_permit();
    return id;
  }

  void give_permit() {
    parked_.reset();
    owner_->phase = Owner::running;
    owner_->began = owner_->busy = owner_->asked = owner_->moved = owner_->stood = now();
    const Grant& grant = *grants_.on(kOnly);
    Client& client = of(grant.job.client);
    owner_->submissions = client.seen.submissions;
    if (owner_->kernel != 0)
      client.port->slice(owner_->kernel, static_cast<std::uint32_t>(owner_->last.count));
    permit(client.id, settings_.in_flight == 0 || alone() ? kUnlimited : settings_.in_flight,
           last_job(client.id));
    tell(Started{grant.id, grant.job});
  }

  bool alone() const {
    return std::count_if(clients_.begin(), clients_.end(),
                         [](const Client& client) { return client.port != nullptr; }) == 1;
  }

  // A slice ends by itself.
  void evict(LaunchId launch) override {
    if (grants_.find(launch) == nullptr || owner_->kernel != 0 || owner_->phase != Owner::running) return;
    owner_->phase = Owner::closing;
    close(owner_client());
  }

  // Only looking tells when a slice is over, or a job for which others wait.
  bool impatient() override {
    return owner_ && (owner_->phase != Owner::running || owner_->kernel != 0 || others_wait());
  }

  bool alert() const override {
    std::size_t there = 0, working = 0;
    for (const Client& client : clients_) {
      there += client.port != nullptr ? 1 : 0;
      working += client.port != nullptr && (client.seen.job & 1) != 0 ? 1 : 0;
    }
    return there > 1 && working > 0;
  }

  std::vector<Kernels> kernels_;  // by client
  std::vector<Stays> stays_;      // likewise
  std::optional<Owner> owner_;
  // Whose gate is still open though its launch is over: the next is often its own.
  std::optional<ClientId> parked_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Conductor> range_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal) {
  return std::make_unique<RangeConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
