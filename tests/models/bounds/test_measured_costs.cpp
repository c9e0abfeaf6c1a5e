// The step from a set with costs to one without, by hand; and traces that break what it assumes.
#include <algorithm>

#include "models/bounds/measured_costs.hpp"
#include "models/bounds/owner_assumptions.hpp"
#include "models/bounds/queue_assumptions.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using Catch::Matchers::Contains;

TaskSet costed(const std::string& yaml) {
  const Node node = parse_yaml("kind: taskset\nversion: 1\nname: t\n" + yaml, "taskset");
  return read_task_set(Field(node, ""));
}

const Assumption* found(const Assumptions& seen, const std::string& name) {
  for (const Assumption& a : seen.all())
    if (a.name == name) return &a;
  return nullptr;
}
bool holds(const Assumptions& seen, const std::string& name) { return found(seen, name)->held(); }

Record at(std::int64_t time, Mark mark, std::uint32_t client, std::uint64_t launch = 0,
          Why why = Why::completed, std::uint32_t job = 0) {
  Record record;
  record.time = Time{time};
  record.mark = mark;
  record.job = {ClientId{client}, job};
  record.launch = {launch};
  record.why = why;
  return record;
}

// A less urgent job, 1, that a more urgent one, 0, displaces once.
std::vector<Record> one_eviction() {
  return {at(2, Mark::eligible, 1),
          at(2, Mark::launch_ordered, 1, 1),
          at(5, Mark::started, 1, 1),
          at(20, Mark::eligible, 0),
          at(20, Mark::evict_ordered, 1, 1),
          at(26, Mark::gone, 1, 1),
          at(28, Mark::left, 1, 1, Why::evicted),
          at(28, Mark::launch_ordered, 0, 2),
          at(30, Mark::started, 0, 2),
          at(39, Mark::gone, 0, 2),
          at(40, Mark::left, 0, 2),
          at(40, Mark::finished, 0),
          at(40, Mark::launch_ordered, 1, 3),
          at(43, Mark::started, 1, 3),
          at(60, Mark::gone, 1, 3),
          at(62, Mark::left, 1, 3),
          at(62, Mark::finished, 1)};
}

Assumptions judged(const std::vector<Record>& records, std::optional<Duration> quantum = {}) {
  const OwnerLimits limits{.name = "t",
                           .priority = 2,
                           .lateness = {3},
                           .launch = {3},
                           .run = {35},
                           .resume = {2},
                           .eviction = {8},
                           .ending = {2}};
  OwnerLimits low = limits;
  low.priority = 1;
  OwnerAssumptions judge({limits, low}, quantum);
  const std::vector<std::vector<Duration>> nominal{{Duration{17}}, {Duration{0}}};
  judge.restart(nominal, {Duration{}, Duration{}});
  for (const Record& record : records) judge.record(record);
  return judge.seen();
}

Assumptions with(std::size_t which, std::int64_t time) {
  auto records = one_eviction();
  records[which].time = Time{time};
  return judged(records);
}

}  // namespace

TEST_CASE("costs of owners enter where the page says") {
  const std::string costs =
      "costs: {lateness: 1 us, launch: 2 us, resume: 4 us, eviction: 8 us, ending: 16 us, block: 1 us}\n";
  const std::string tasks =
      "tasks: [{name: a, c: 100 us, e: 3 us, l: 5 us, J: 7 us, T: 999 us},"
      " {name: b, c: 200 us, e: 30 us, l: 0 us, T: 9 ms}]\n";
  const auto fixed =
      std::get<OwningTasks>(with_costs(costed("scheduler: fixed-priority\n" + costs + tasks)).set.tasks);
  CHECK(fixed.tasks[0].run == Rational(116));
  CHECK(fixed.tasks[0].launch == Rational(11));
  CHECK(fixed.tasks[0].eviction == Rational(16));  // ending is more than 3 + 8
  CHECK(fixed.tasks[1].eviction == Rational(38));
  CHECK(fixed.tasks[0].jitter == Rational(8));
  CHECK(*fixed.tasks[0].period == Rational(999));
  CHECK_FALSE(fixed.costs);
  const auto ring = std::get<OwningTasks>(
      with_costs(costed("scheduler: round-robin\nquantum: 20 us\n" + costs + tasks)).set.tasks);
  CHECK(ring.tasks[0].run == Rational(145));  // 116 * 20 / 16
  CHECK(ring.tasks[0].launch == Rational(8));
  CHECK(ring.tasks[0].jitter == Rational(8));
  // T7 of a: B = 38 + 6, then 116 + 11 and J = 8.
  const BoundReport report = bound_with_costs(costed("scheduler: fixed-priority\n" + costs + tasks));
  CHECK(*report.tightest(0) == Rational(44 + 127 + 8));
}

TEST_CASE("costs of queues enter where the page says") {
  const TaskSet set = costed(
      "device: {layout: pool, m: 4}\n"
      "costs: {lateness: 1 us, issue: 2 us, stream: 3 us, refill: 4 us, change: 5 us, clock: 6 us}\n"
      "tasks: [{name: a, C: 80 us, T: 500 us, g: 1, b: 4}, {name: b, C: 60 us, T: 600 us, g: 2, b: 3}]\n");
  const InflatedSet inflated = with_costs(set);
  const auto& tasks = std::get<SporadicTasks>(inflated.set.tasks).tasks;
  CHECK(inflated.later == Rational(9));
  CHECK(tasks[0].grid.work == Rational(80 + 4 * 11 + 4 * 5));
  CHECK(tasks[1].grid.work == Rational(60 + 6 * 11 + 4 * 5));
  CHECK(tasks[0].period == Rational(491));
  const BoundReport without = bound_responses(inflated.set), with = bound_with_costs(set);
  CHECK(*with.tightest(0) == *without.tightest(0) + Rational(9));
}

TEST_CASE("sets that the step does not cover are refused") {
  const auto refusal = [](const std::string& yaml) {
    const TaskSet set = costed(yaml);
    try {
      static_cast<void>(bound_with_costs(set));
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const std::string owners =
      "costs: {launch: 20 us, lateness: 5 us, resume: 9 us}\ntasks: [{name: a, c: 1 us, e: 0 us, l: 1 us";
  CHECK_THAT(refusal("scheduler: fixed-priority\n" + owners + ", T: 30 us}]\n"),
             Contains("tasks.a.T': found 30 us, expected more than the 35 us that a launch costs"));
  CHECK_THAT(refusal("scheduler: round-robin\nquantum: 9 us\n" + owners + ", T: 900 us}]\n"),
             Contains("'quantum': found 9 us"));
  CHECK_THAT(refusal("scheduler: round-robin\nquantum: 10 us\n" + owners + "}]\n"), Contains("without T"));
  const std::string device = "device: {layout: pool, m: 2}\ncosts: {issue: 9 us}\n";
  const std::string a = "{name: a, C: 2 us, T: 90 us, g: 1, b: 2}",
                    b = "{name: b, C: 2 us, T: 90 us, g: 1, b: 1}";
  CHECK(refusal(device + "tasks: [" + a + ", " + b + "]\n").empty());
  CHECK_THAT(refusal(device + "tasks: [" + a + "]\n"), Contains("expected at least two"));
  CHECK_THAT(refusal("order: release-ready\n" + device + "tasks: [" + a + ", " + b + "]\n"),
             Contains("found release-ready, expected became-head"));
  CHECK_THAT(refusal(device + "tasks: [" + b + ", {name: c, C: 1 us, T: 90 us, g: 1, b: 1}]\n"),
             Contains("never waits for room"));
  CHECK_THAT(refusal(device + "tasks: [" + a + ", {name: c, C: 1 us, T: 9 us, g: 1, b: 1}]\n"),
             Contains("tasks.c.T': found 9 us, expected more than the 9 us"));
}

TEST_CASE("a run of owners is read off its trace") {
  const Assumptions seen = judged(one_eviction());
  CHECK(seen.held());
  CHECK(found(seen, "lateness")->measured == 3);
  CHECK(found(seen, "launch")->measured == 3);
  CHECK(found(seen, "eviction")->measured == 8);
  // 15 before the eviction and 19 after it, 37 allowed.
  const auto run = std::find_if(seen.all().begin(), seen.all().end(),
                                [](const Assumption& a) { return a.name == "run" && a.allowed == 37; });
  REQUIRE(run != seen.all().end());
  CHECK(run->measured == 34);
}

TEST_CASE("each fault in a run of owners is found") {
  CHECK_FALSE(holds(with(0, 4), "lateness"));
  CHECK_FALSE(holds(with(2, 6), "launch"));
  CHECK_FALSE(holds(with(4, 21), "order"));  // evicted an instant late
  CHECK_FALSE(holds(with(6, 29), "eviction"));
  CHECK_FALSE(holds(with(7, 29), "idle"));  // nobody launched when the owner left
  CHECK_FALSE(holds(with(15, 66), "run"));
  CHECK_FALSE(holds(with(9, 37), "ending"));
  auto inverted = one_eviction();  // the less urgent one is launched again first
  std::swap(inverted[7].job, inverted[12].job);
  std::erase_if(inverted, [](const Record& r) { return r.time > Time{30}; });
  inverted.push_back(at(40, Mark::gone, 1, 2));
  inverted.push_back(at(40, Mark::left, 1, 2));
  CHECK_FALSE(holds(judged(inverted), "order"));
}

TEST_CASE("a kernel that is over for long before anybody knows does not pass for its owner's time") {
  // Over at 5; an urgent job, known at 6, waits until 30.
  const Assumptions seen =
      judged({at(0, Mark::eligible, 1), at(0, Mark::launch_ordered, 1, 1), at(2, Mark::started, 1, 1),
              at(5, Mark::gone, 1, 1), at(6, Mark::eligible, 0), at(30, Mark::left, 1, 1),
              at(30, Mark::finished, 1), at(30, Mark::launch_ordered, 0, 2), at(32, Mark::started, 0, 2),
              at(39, Mark::gone, 0, 2), at(40, Mark::left, 0, 2), at(40, Mark::finished, 0)});
  for (const char* name : {"lateness", "launch", "run", "idle", "order"}) CHECK(holds(seen, name));
  CHECK(found(seen, "ending")->measured == 25);
  CHECK_FALSE(seen.held());
}

TEST_CASE("a job that waits for its predecessor is known when that one finishes") {
  // Due at 5, when the first job is under way: it may be known up to 8, or in the instant of the finish.
  const auto known_at = [](std::int64_t time, std::int64_t finish) {
    const OwnerLimits limits{"t", 1, {3}, {9}, {99}, {0}, {9}, {9}};
    OwnerAssumptions judge({limits}, {});
    const std::vector<std::vector<Duration>> nominal{{Duration{0}, Duration{5}}};
    judge.restart(nominal, {Duration{}});
    for (const Record& record :
         {at(0, Mark::eligible, 0), at(0, Mark::launch_ordered, 0, 1), at(1, Mark::started, 0, 1),
          at(finish, Mark::gone, 0, 1), at(finish, Mark::left, 0, 1), at(finish, Mark::finished, 0),
          at(time, Mark::eligible, 0, 0, Why::completed, 1),
          at(time, Mark::launch_ordered, 0, 2, Why::completed, 1)})
      judge.record(record);
    return judge.seen();
  };
  CHECK(known_at(40, 40).held());
  CHECK(known_at(8, 6).held());
  CHECK_FALSE(holds(known_at(41, 40), "backlog"));
  CHECK_FALSE(holds(known_at(9, 6), "backlog"));
  CHECK_FALSE(holds(known_at(9, 4), "lateness"));
}

TEST_CASE("an owner that is launched before its turn, or evicted for nobody, is found") {
  // Launched again though a more urgent job waits, and evicted at once.
  CHECK_FALSE(
      holds(judged({at(20, Mark::eligible, 0), at(20, Mark::eligible, 1), at(20, Mark::launch_ordered, 1, 1),
                    at(20, Mark::evict_ordered, 1, 1), at(22, Mark::gone, 1, 1),
                    at(23, Mark::left, 1, 1, Why::evicted), at(23, Mark::launch_ordered, 0, 2)}),
            "order"));
  auto early = one_eviction();
  std::swap(early[3], early[4]);
  early[3].time = Time{19};
  CHECK_FALSE(holds(judged(early), "order"));
}

TEST_CASE("quanta end when they may, and not much later") {
  // Ordered off at 20, started at 5; somebody waits from 20 on.
  CHECK(holds(judged(one_eviction(), Duration{15}), "quantum"));
  CHECK_FALSE(holds(judged(one_eviction(), Duration{16}), "quantum"));
  auto late = one_eviction();
  late[3].time = Time{6};  // waits from 6 on: off by 6 + 10 + 3
  CHECK_FALSE(holds(judged(late, Duration{10}), "turn"));
  CHECK(holds(judged(late, Duration{11}), "turn"));
}

TEST_CASE("nobody has two turns while another waits for one") {
  // Three jobs known at 0 with turns of 10, evicted after each, in this order.
  const auto turns = [](const std::vector<std::uint32_t>& order) {
    const OwnerLimits limits{"t", 1, {0}, {0}, {99}, {0}, {0}, {0}};
    OwnerAssumptions judge({limits, limits, limits}, Duration{10});
    const std::vector<std::vector<Duration>> nominal(3, {Duration{0}});
    judge.restart(nominal, {Duration{}, Duration{}, Duration{}});
    for (const std::uint32_t client : {0u, 1u, 2u}) judge.record(at(0, Mark::eligible, client));
    std::int64_t now = 0;
    std::uint64_t launch = 0;
    for (const std::uint32_t client : order) {
      judge.record(at(now, Mark::launch_ordered, client, ++launch));
      judge.record(at(now, Mark::started, client, launch));
      now += 10;
      for (const Mark mark : {Mark::evict_ordered, Mark::gone, Mark::left})
        judge.record(at(now, mark, client, launch, Why::evicted));
    }
    return judge.seen();
  };
  CHECK(turns({0, 1, 2, 0, 1, 2}).held());
  CHECK(turns({1, 0, 2, 1, 0, 2}).held());
  // As if 0 re-entered the ring before 2 did.
  CHECK(found(turns({0, 1, 0, 2, 1, 2}), "ring")->measured == 10);
  CHECK(found(turns({0, 1, 0, 1, 2}), "ring")->measured == 20);
}

namespace {

struct PlayedBlock {
  std::uint32_t client = 0, job = 0;
  std::int64_t began = 0, ended = 0;
};

// Two clients with blocks of all 4 threads: a job of 0 issued at 0, one of 1 issued at 1 behind it, another
// one of 0 behind that; 10 each.
Assumptions of_queue(std::vector<PlayedBlock> blocks, std::vector<std::int64_t> issued = {0, 1, 12}) {
  const QueueLimits limits{.name = "q", .threads = 4, .capacity = 4, .block = {10}, .head = {14}};
  QueueAssumptions judge(
      {limits, limits},
      {.lateness = {2}, .issue = {3}, .stream = {2}, .refill = {1}, .change = {1}, .clock = {1}});
  const std::vector<std::vector<Duration>> nominal{{Duration{0}, Duration{12}}, {Duration{0}}};
  judge.restart(nominal);
  judge.record(at(issued[0], Mark::issued, 0));
  judge.record(at(issued[1], Mark::issued, 1));
  judge.record(at(issued[2], Mark::issued, 0, 0, Why::completed, 1));
  const BlocksOnSm one{0, 1};
  for (const PlayedBlock& block : blocks) {
    BlockSpan span;
    span.job = {ClientId{block.client}, block.job};
    span.began = Time{block.began};
    span.length = Duration{block.ended - block.began};
    span.where = {&one, 1};
    judge.blocks(span);
  }
  judge.finish();
  return judge.seen();
}

}  // namespace

TEST_CASE("a run of a queue is read off its blocks") {
  const Assumptions seen = of_queue({{0, 0, 3, 13}, {1, 0, 14, 24}, {0, 1, 25, 35}});
  CHECK(seen.held());
  CHECK(found(seen, "change")->measured == 0);  // a block's room counts until it must be free
  CHECK(found(seen, "issue")->measured == 3);
}

TEST_CASE("each fault in a run of a queue is found") {
  CHECK_FALSE(holds(of_queue({{0, 0, 3, 14}, {1, 0, 15, 25}, {0, 1, 26, 36}}), "block"));
  CHECK_FALSE(
      holds(of_queue({{0, 0, 3, 13}, {1, 0, 16, 26}, {0, 1, 27, 37}}), "change"));  // 2 of 4 threads' time
  CHECK_FALSE(holds(of_queue({{0, 0, 5, 15}, {1, 0, 16, 26}, {0, 1, 27, 37}}), "issue"));
  CHECK_FALSE(holds(of_queue({{0, 0, 3, 13}, {1, 0, 14, 24}, {0, 1, 25, 35}}, {0, 3, 12}), "lateness"));
  // The second of 0 goes before the first of 1, though it comes 11 later.
  CHECK_FALSE(holds(of_queue({{0, 0, 3, 13}, {0, 1, 14, 24}, {1, 0, 25, 35}}), "order"));
  // Two jobs of a stream at once.
  CHECK_FALSE(holds(of_queue({{0, 0, 3, 13}, {0, 1, 12, 22}, {1, 0, 25, 35}}), "one at a time"));
  // Waits longer at the head than lemma 1 allows.
  CHECK_FALSE(holds(of_queue({{0, 0, 3, 13}, {1, 0, 24, 34}, {0, 1, 35, 45}}), "head"));
}

}  // namespace gangway::testing
