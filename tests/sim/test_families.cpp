// The policy contract carries more than ownership: a slicing policy (Share-a-GPU's microkernels) in a few
// lines, and what happens to impossible orders.
#include <deque>
#include <functional>
#include <map>

#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// Round robin over slices of block-tasks: restore the job's memory, run a slice, save it again; the next
// job's restore overlaps.
class Microkernels : public Policy {
 public:
  explicit Microkernels(std::int64_t slice) : slice_{slice} {}
  Capabilities needs() const override { return {Capability::ranges, Capability::memory}; }

  void note(Time, const Fact& fact, const View&) override {
    if (const auto* arrived = std::get_if<Arrived>(&fact)) absent_.push_back(arrived->job);
    if (const auto* moved = std::get_if<Moved>(&fact)) {
      if (moved->move == MemoryMove::restore) resident_.push_back(moved->job);
      restoring_ = restoring_ && moved->move != MemoryMove::restore;
      if (moved->move == MemoryMove::save) absent_.push_back(moved->job);
    }
    if (const auto* left = std::get_if<Left>(&fact)) {
      running_ = false;
      if (!left->job_over) to_save_.push_back(left->job);
    }
  }

  void decide(Time, const View& view, Orders& orders) override {
    for (; !to_save_.empty(); to_save_.pop_front()) orders.save(to_save_.front(), DeviceId{0});
    if (!restoring_ && !absent_.empty()) {
      orders.restore(absent_.front(), DeviceId{0}, kAllBlocks);
      absent_.pop_front();
      restoring_ = true;
    }
    if (running_ || resident_.empty()) return;
    const JobFacts& job = view.job(resident_.front());
    resident_.pop_front();
    orders.launch(job.id, DeviceId{0},
                  BlockRange{job.done, std::min(job.done + slice_, job.current().block_tasks)});
    running_ = true;
  }

 private:
  BlockCount slice_;
  std::deque<JobId> absent_, resident_, to_save_;
  bool restoring_ = false, running_ = false;
};

// Orders whatever the test says, at every decision that follows a fact.
class Scripted : public Policy {
 public:
  explicit Scripted(std::function<void(Time, const View&, Orders&)> orders) : orders_(std::move(orders)) {}
  Capabilities needs() const override { return {}; }
  void note(Time, const Fact&, const View&) override { begun_ = true; }
  void decide(Time now, const View& view, Orders& orders) override {
    if (begun_) orders_(now, view, orders);
  }

 private:
  std::function<void(Time, const View&, Orders&)> orders_;
  bool begun_ = false;
};

Client with_memory(const std::string& name, std::int64_t time, std::int64_t memory) {
  Client c = client(name, 0, time);
  c.memory = Bytes{memory};
  return c;
}

}  // namespace

TEST_CASE("a slicing policy: restore, run a range, yield, save") {
  Microkernels policy(60);
  // Restores take 5 + 20 (A) and 5 + 40 (B). A runs 35-95 (after its launch at 25); meanwhile B is restored
  // until 70. At 100 A's slice is reported: B is launched, A saved until 125, restored until 150. B runs
  // 110-150 and is over at 155.
  const Played played = play({{with_memory("A", 100, 20), with_memory("B", 40, 40)}}, policy);
  CHECK(played.lines == Lines{"25 A launch", "35 A start", "95 A gone 60", "100 A budget", "100 B launch",
                              "110 B start", "150 B gone 40", "155 B completed", "155 B finished",
                              "155 A launch", "165 A start", "205 A gone 40", "210 A completed",
                              "210 A finished"});
  std::vector<std::string> moves;
  for (const Record& r : played.records)
    if (r.mark == Mark::copy_ends && !r.program_copy)
      moves.push_back(std::to_string(r.time.ns) +
                      (r.direction == CopyDirection::to_host ? " save " : " restore ") +
                      std::to_string(r.job.client.index));
  CHECK(moves == std::vector<std::string>{"25 restore 0", "70 restore 1", "125 save 0", "150 restore 0"});
  CHECK(played.totals.evictions == 0);
}

TEST_CASE("an impossible order stops the run and shows what went before") {
  const Scenario scenario{{client("A", 0, 100), client("B", 50, 20)}};
  const auto message = [&](std::function<void(Time, const View&, Orders&)> orders) -> std::string {
    Scripted policy(std::move(orders));
    try {
      play(scenario, policy);
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  };
  const JobId a{ClientId{0}, 0};
  const BlockRange all{BlockCount{0}, BlockCount{100}};
  using Catch::Matchers::ContainsSubstring;
  const std::string twice =
      message([&](Time, const View&, Orders& orders) { orders.launch(a, DeviceId{0}, all); });
  CHECK_THAT(twice,
             ContainsSubstring("at 10 ns the policy ordered a launch while another kernel owns the GPU"));
  CHECK_THAT(twice, ContainsSubstring("0 ns  A job 0 kernel 0 launch 1: launch ordered"));
  CHECK_THAT(message([&](Time, const View&, Orders& o) {
               o.launch(a, DeviceId{0}, BlockRange{BlockCount{0}, BlockCount{101}});
             }),
             ContainsSubstring("block-tasks 0 to 101 of 100"));
  CHECK_THAT(message([&](Time, const View&, Orders& o) {
               o.launch(a, DeviceId{0}, BlockRange{BlockCount{5}, BlockCount{10}});
             }),
             ContainsSubstring("0 of which are done"));
  CHECK_THAT(message([&](Time, const View&, Orders& o) {
               o.launch(a, DeviceId{0}, BlockRange{BlockCount{0}, BlockCount{0}});
             }),
             ContainsSubstring("block-tasks 0 to 0"));
  CHECK_THAT(message([&](Time, const View&, Orders& o) {
               o.launch({ClientId{1}, 0}, DeviceId{0}, all);
             }),
             ContainsSubstring("not eligible"));
  CHECK_THAT(message([&](Time, const View&, Orders& o) { o.launch(a, DeviceId{1}, all); }),
             ContainsSubstring("device 1"));
  CHECK_THAT(message([](Time now, const View&, Orders& o) { o.wake_at(now - Duration{1}); }),
             ContainsSubstring("in the past"));
  CHECK_THAT(message([](Time, const View&, Orders& o) { o.evict(LaunchId{9}); }),
             ContainsSubstring("an eviction of an unknown launch"));
  CHECK_THAT(message([](Time, const View&, Orders& o) { o.kill(ClientId{0}); }),
             ContainsSubstring("cannot do"));
  CHECK_THAT(message([](Time, const View&, Orders& o) { o.access(ClientId{0}, Access::deny); }),
             ContainsSubstring("access"));
  CHECK_THAT(message([](Time now, const View&, Orders& o) { o.wake_at(now); }),
             ContainsSubstring("the same instant endlessly"));
}

TEST_CASE("a quantum too short for a block-task is noticed") {
  Client a = client("A", 0, 10'000), b = client("B", 0, 10'000);
  for (Client* c : {&a, &b}) {
    c->kernels[0].block_tasks = {1};
    c->kernels[0].block_task_length = Duration{100};
  }
  CHECK_THROWS_WITH(play({{a, b}}, "{name: rr, params: {quantum: 1 us}}"),
                    Catch::Matchers::ContainsSubstring("no block-task was done"));
}

TEST_CASE("orders about what is over do nothing") {
  int decisions = 0;
  LaunchId launch{};
  TimerId timer{};
  Scripted policy([&](Time now, const View&, Orders& orders) {
    if (decisions++ == 0) {
      launch = orders.launch({ClientId{0}, 0}, DeviceId{0}, BlockRange{BlockCount{0}, BlockCount{100}});
      timer = orders.wake_at(now + Duration{1000});
      orders.cancel(timer);
      orders.cancel(timer);
    } else {
      orders.evict(launch);
    }
  });
  // The eviction at the start (10) is real: seen at 12, 2 + 3 done, gone at 18; at 23 and later there is
  // nothing to evict.
  Scenario scenario{{client("A", 0, 100)}};
  scenario.horizon = Time{2000};  // nobody launches it again
  const Played played = play(scenario, policy);
  CHECK(played.lines == Lines{"0 A launch", "10 A start", "10 A evict", "18 A gone 5", "23 A evicted"});
  CHECK(decisions == 3);
  CHECK(played.totals.unfinished == 1);
}
