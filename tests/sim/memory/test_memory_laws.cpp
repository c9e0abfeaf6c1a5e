// What must hold of device memory under every order of microkernels, over thousands of random workloads.
#include <map>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/memory/memory_scenario.hpp"
#include "tests/sim/memory/random_memory.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// What of a client's state is where, by the trace alone.
struct ResidentAccount {
  StateSizes sizes;
  std::int64_t held = 0;
  std::int64_t unsaved = 0;    // bytes on the device that differ from the host's
  std::int64_t to_copy = 0;    // before it can be launched
  bool ever_launched = false;  // in this job
  int moving = 0;
  bool outputs_out = false;
  bool over = false;  // the job
};

class Auditor {
 public:
  explicit Auditor(const Scenario& scenario) : scenario_(scenario) {
    for (const Client& client : scenario.clients) accounts_.push_back({.sizes = state_sizes(client)});
  }

  void on(const Record& r) {
    ResidentAccount& account = accounts_[r.job.client.index];
    const bool restore = r.direction == CopyDirection::to_device;
    switch (r.mark) {
      case Mark::holds:
        if (r.amount == 0) drop(account);
        account.held = r.amount;
        account.to_copy =
            r.amount == 0
                ? 0
                : (account.ever_launched ? account.sizes.restore : account.sizes.first_restore).count;
        all_held();
        return;
      case Mark::copy_begins:
        if (r.program_copy) return;
        REQUIRE(account.held == client(r).memory.count);
        REQUIRE(++account.moving == 1);
        REQUIRE(running_ != r.job.client);
        return;
      case Mark::copy_ends:
        if (r.program_copy) {
          account.outputs_out = account.outputs_out || !restore;
          return;
        }
        --account.moving;
        if (restore)
          account.to_copy -= r.amount;
        else
          account.unsaved -= r.amount;
        return;
      case Mark::launch_ordered:
        REQUIRE(account.held == client(r).memory.count);
        REQUIRE(account.moving == 0);
        REQUIRE(account.to_copy == 0);
        account.ever_launched = true;
        account.unsaved = account.sizes.save.count;
        running_ = r.job.client;
        return;
      case Mark::left:
        running_.reset();
        if (r.why != Why::completed || r.kernel + 1 != client(r).kernels.size()) return;
        account.over = true;
        account.outputs_out = client(r).copy_out.count == 0;
        return;
      default:
        return;
    }
  }

 private:
  const Client& client(const Record& r) const { return scenario_.clients[r.job.client.index]; }

  // The state leaves the device: saved, or the job is over and its outputs are out.
  static void drop(ResidentAccount& account) {
    if (account.over) {
      REQUIRE(account.outputs_out);
      account.ever_launched = account.over = false;
      account.unsaved = 0;
    }
    REQUIRE(account.unsaved == 0);
    REQUIRE(account.moving == 0);
  }

  void all_held() const {
    std::int64_t all = 0;
    for (const ResidentAccount& account : accounts_) all += account.held;
    REQUIRE(all <= scenario_.device.memory.count);
  }

  const Scenario& scenario_;
  std::vector<ResidentAccount> accounts_;
  std::optional<ClientId> running_;
};

using KernelKey = std::tuple<JobId, std::uint32_t>;

std::map<KernelKey, std::int64_t> work_of(const Played& played) {
  std::map<KernelKey, std::int64_t> work;
  for (const Record& r : played.records)
    if (r.mark == Mark::gone && r.amount > 0) work[{r.job, r.kernel}] += r.amount;
  return work;
}

}  // namespace

TEST_CASE("memory: never too much held, never a launch without its state, never a dirty byte lost",
          "[memory][long]") {
  for (const int i : case_numbers(3'000, 300'000)) {
    const auto number = static_cast<std::uint64_t>(i);
    const Scenario scenario = random_memory(number);
    const std::string policy = random_microkernels(number);
    INFO("scenario " << i << " under " << policy);
    const Played played = play(scenario, policy);
    Auditor auditor(scenario);
    for (const Record& r : played.records) auditor.on(r);
    REQUIRE(played.totals.unfinished == 0);  // the repaired protocol does not lock up
  }
}

TEST_CASE("memory: the same useful work under every policy", "[memory][long]") {
  for (const int i : case_numbers(150, 10'000)) {
    const Scenario scenario = random_memory(static_cast<std::uint64_t>(i));
    const auto work = work_of(play(scenario, random_microkernels(static_cast<std::uint64_t>(i))));
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      REQUIRE(work_of(play(scenario, policy)) == work);
    }
  }
}

TEST_CASE("memory: as long as all fits, policies that leave it there do not see it", "[memory]") {
  for (std::uint64_t i = 0; i < 200; ++i) {
    Scenario scenario = random_scenario(i);
    const Lines without = play(scenario, "piv").lines;
    for (Client& client : scenario.clients) client.memory = Bytes{1000};
    REQUIRE(play(scenario, "piv").lines == without);
  }
}
