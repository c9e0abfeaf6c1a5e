// What must hold on several GPUs under every order of microkernels, over thousands of random workloads: a
// second account of which writes are where, kept from the policy's orders and the facts alone.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "models/run/refusing_orders.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/memory/memory_scenario.hpp"
#include "tests/sim/memory/random_memory.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// What some memory has of what a job's kernels write: of each kernel, the blocks whose writes are there.
using Writes = std::map<std::uint32_t, BlockSet>;

void add(Writes& to, const Writes& from) {
  for (const auto& [kernel, blocks] : from)
    for (const BlockRange& range : blocks.ranges()) to[kernel].add(range);
}

// Blocks' own parts: of each block, how many kernels have written to it.
using Versions = std::map<std::int64_t, std::uint32_t>;

struct Place {
  Residence residence = Residence::absent;
  Writes shared;
  Versions parts;  // that are there
  // Of a move under way, as things were when it was ordered.
  Writes moving_shared;
  Versions moving_parts;
};

struct SliceAccount {
  JobId job;
  StateSizes sizes, block;
  std::vector<std::int64_t> grids;
  Writes shared;   // on the host
  Versions parts;  // on the host; others as they were when the job began
  Versions latest;
  std::vector<Place> gpus;
  std::uint32_t kernel = 0;
  BlockSet launched;  // of that
};

// Passes everything on to a policy and its orders to the world, and keeps accounts.
class Audited : public Policy {
 public:
  Audited(const Scenario& scenario, Policy& policy) : policy_(&policy) {
    for (const Client& client : scenario.clients) {
      SliceAccount account;
      account.sizes = state_sizes(client);
      account.block = block_sizes(client);
      for (const Kernel& kernel : client.kernels) account.grids.push_back(kernel.block_tasks.count);
      account.gpus.resize(static_cast<std::size_t>(scenario.device.gpus));
      accounts_.push_back(account);
    }
  }

  Capabilities needs() const override { return policy_->needs(); }
  bool several_gpus() const override { return true; }

  void note(Time now, const Fact& fact, const View& view) override {
    if (const auto* arrived = std::get_if<Arrived>(&fact))
      begin(arrived->job, view.job(arrived->job));
    else if (const auto* left = std::get_if<Left>(&fact))
      leave(*left);
    else if (const auto* moved = std::get_if<Moved>(&fact))
      move(*moved);
    policy_->note(now, fact, view);
  }

  void decide(Time now, const View& view, Orders& orders) override {
    Tap tap(*this, orders);
    policy_->decide(now, view, tap);
  }

 private:
  class Tap : public RefusingOrders {
   public:
    Tap(Audited& audited, Orders& orders) : audited_(audited), orders_(orders) {}
    LaunchId launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) override {
      audited_.launch(job, gpu, *range);
      return orders_.launch(job, gpu, range);
    }
    void restore(JobId job, DeviceId gpu, BlockRange blocks) override {
      audited_.restore(job, gpu, blocks);
      orders_.restore(job, gpu, blocks);
    }
    void save(JobId job, DeviceId gpu) override {
      audited_.save(job, gpu);
      orders_.save(job, gpu);
    }

   private:
    [[noreturn]] void impossible(const std::string& what) const override { throw std::logic_error(what); }
    Audited& audited_;
    Orders& orders_;
  };

  void begin(JobId job, const JobFacts& facts) {
    SliceAccount& account = accounts_[job.client.index];
    if (facts.kernel > 0) return;
    for (const Place& place : account.gpus) REQUIRE(place.residence == Residence::absent);
    account.job = job;
    account.shared.clear();
    account.parts.clear();
    account.latest.clear();
    account.kernel = 0;
    account.launched.clear();
  }

  void restore(JobId job, DeviceId gpu, BlockRange blocks) {
    SliceAccount& account = accounts_[job.client.index];
    Place& place = account.gpus[gpu.index];
    place.residence = Residence::restoring;
    place.moving_shared = account.shared;
    place.moving_parts.clear();
    for (std::int64_t b = blocks.first.count; b < std::min(blocks.last.count, most(account)); ++b)
      if (!place.parts.contains(b)) place.moving_parts[b] = account.parts[b];
  }

  void save(JobId job, DeviceId gpu) {
    Place& place = accounts_[job.client.index].gpus[gpu.index];
    place.residence = Residence::saving;
    place.moving_shared = place.shared;
    place.moving_parts = place.parts;
  }

  void move(const Moved& moved) {
    SliceAccount& account = accounts_[moved.job.client.index];
    Place& place = account.gpus[moved.device.index];
    if (moved.move == MemoryMove::restore) {
      place.residence = Residence::resident;
      add(place.shared, place.moving_shared);
      for (const auto& [block, version] : place.moving_parts) place.parts[block] = version;
      return;
    }
    add(account.shared, place.moving_shared);
    for (const auto& [block, version] : place.moving_parts)
      account.parts[block] = std::max(account.parts[block], version);
    place = {};
  }

  void launch(JobId job, DeviceId gpu, BlockRange range) {
    SliceAccount& account = accounts_[job.client.index];
    Place& place = account.gpus[gpu.index];
    REQUIRE(place.residence == Residence::resident);
    // Every write of earlier kernels to what blocks share is there.
    if (account.sizes.save > account.block.save * BlockCount{most(account)})
      for (std::uint32_t k = 0; k < account.kernel; ++k)
        REQUIRE(place.shared[k].size() == BlockCount{account.grids[k]});
    REQUIRE_FALSE(account.launched.meets(range));
    account.launched.add(range);
    place.shared[account.kernel].add(range);
    if (account.block.save.count == 0) return;
    for (std::int64_t b = range.first.count; b < range.last.count; ++b) {
      REQUIRE(place.parts.contains(b));
      REQUIRE(place.parts[b] == account.latest[b]);
      place.parts[b] = account.latest[b] = account.kernel + 1;
      for (Place& other : account.gpus) {
        if (&other == &place) continue;
        other.parts.erase(b);
        other.moving_parts.erase(b);  // what a restore under way brings is old
      }
    }
  }

  static std::int64_t most(const SliceAccount& account) {
    return *std::max_element(account.grids.begin(), account.grids.end());
  }

  void leave(const Left& left) {
    SliceAccount& account = accounts_[left.job.client.index];
    if (left.why != Why::completed) return;
    REQUIRE(account.launched.size() == BlockCount{account.grids[account.kernel]});
    account.launched.clear();
    // If several GPUs have written to what blocks share, the host merges that before the program goes on.
    std::size_t writers = 0;
    for (const Place& place : account.gpus) writers += place.shared.contains(account.kernel) ? 1 : 0;
    const bool on_host = account.shared.contains(account.kernel);
    if (writers > 1 || (writers == 1 && on_host))
      for (const Place& place : account.gpus) add(account.shared, place.shared);
    ++account.kernel;
    if (account.kernel == account.grids.size())
      for (Place& place : account.gpus) place = {};
  }

  Policy* policy_;
  std::vector<SliceAccount> accounts_;  // by client
};

// Room on each GPU, one owner on each, and nothing left of a job that is over.
void audit(const Played& played, const Scenario& scenario) {
  std::map<std::pair<std::uint8_t, std::uint32_t>, std::int64_t> held;  // by GPU and client
  std::map<std::uint8_t, int> owners;
  for (const Record& r : played.records) {
    if (r.mark == Mark::holds) {
      held[{r.gpu, r.job.client.index}] = r.amount;
      REQUIRE(r.amount <= scenario.clients[r.job.client.index].memory.count);
      std::int64_t all = 0;
      for (const auto& [where, bytes] : held) all += where.first == r.gpu ? bytes : 0;
      REQUIRE(all <= scenario.device.memory.count);
    }
    if (r.mark == Mark::launch_ordered) REQUIRE(++owners[r.gpu] == 1);
    if (r.mark == Mark::gone) REQUIRE(--owners[r.gpu] == 0);
    if (r.mark == Mark::finished)
      for (const auto& [where, bytes] : held)
        if (where.second == r.job.client.index) REQUIRE(bytes == 0);
  }
}

}  // namespace

TEST_CASE("several GPUs: never too much held, never a launch without all earlier writes",
          "[memory][gpus][long]") {
  const CaseNumbers numbers = case_numbers(4'000, 400'000);
  int split = 0, merged = 0;
  for (const int i : numbers) {
    const auto number = static_cast<std::uint64_t>(i);
    const Scenario scenario = random_gpus(number);
    const std::string policy = random_microkernels(number);
    INFO("scenario " << i << " under " << policy);
    const ChosenPolicy chosen = policy_from(policy);
    const auto made = chosen.entry->make(chosen.values);
    Audited audited(scenario, *made);
    const Played played = play(scenario, audited);
    audit(played, scenario);
    REQUIRE(played.totals.unfinished == 0);
    std::map<std::pair<JobId, std::uint32_t>, std::set<std::uint8_t>> used;
    for (const Record& r : played.records) {
      if (r.mark == Mark::launch_ordered) used[{r.job, r.kernel}].insert(r.gpu);
      merged += r.mark == Mark::merged ? 1 : 0;
    }
    for (const auto& [kernel, gpus] : used) split += gpus.size() > 1 ? 1 : 0;
  }
  CHECK(split > numbers.size() / 20);  // or this shows little
  CHECK(merged > numbers.size() / 100);
}

TEST_CASE("several GPUs: maps change nothing for a client alone on one", "[memory][gpus]") {
  for (std::uint64_t i = 0; i < 300; ++i) {
    Scenario scenario = random_gpus(i);
    scenario.device.gpus = 1;
    scenario.clients.resize(1);
    const std::string policy = random_microkernels(i);
    INFO("scenario " << i << " under " << policy);
    const Lines with = gpu_lines(play(scenario, policy));
    for (Client& client : scenario.clients)
      for (Variable& variable : client.variables) variable.map.reset();
    REQUIRE(gpu_lines(play(scenario, policy)) == with);
  }
}
