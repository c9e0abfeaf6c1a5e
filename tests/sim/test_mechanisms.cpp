// What EffiSha's mechanisms and kernel slicing cost, worked out by hand from sim/README.md, and held against
// a model of blocks that queue for their reads.
#include <algorithm>
#include <queue>

#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// 160 block-tasks of 160 ns by the 16 blocks that the device holds.
Kernel sixteen_blocks() {
  Kernel kernel;
  kernel.name = "k";
  kernel.block = {512, 1, 1};
  kernel.block_tasks = {160};
  kernel.time = Duration{1600};
  return kernel;
}

Device polled(std::int64_t host, std::int64_t device_read) {
  Device device = small_device();
  device.polls = PollCosts{Duration{host}, Duration{device_read}};
  return device;
}

Client prior(Client client, std::int32_t priority) {
  client.priority = priority;
  return client;
}

}  // namespace

TEST_CASE("basic: blocks and the one reader of host memory, whichever is slower") {
  const auto basic = mechanism_from("basic");
  SECTION("10 reads of 5 ns in a row by each block") {
    CHECK(basic->running_time(sixteen_blocks(), polled(5, 0)) == Duration{1650});
    const CommandDelays delays = basic->delays(sixteen_blocks(), polled(5, 0));
    CHECK(delays.seen == Duration{0});
    CHECK(delays.drain == Duration{165});
    CHECK(delays.drain_work == Duration{82});
    CHECK(delays.pending_work == Duration{0});
  }
  SECTION("160 reads of 20 ns take longer than the work") {
    CHECK(basic->running_time(sixteen_blocks(), polled(20, 0)) == Duration{3200});
    CHECK(basic->delays(sixteen_blocks(), polled(20, 0)).drain == Duration{320});
  }
}

TEST_CASE("basic: as a queue of blocks at one reader") {
  // Each block in turn: waits for the reader, reads, does a block-task. The end differs from the formula by
  // the first round and the last.
  for (std::uint64_t i = 0; i < 300; ++i) {
    Stream random(i, "polls", {});
    const auto blocks = static_cast<std::int64_t>(1 + random.below(64));
    const auto rounds = static_cast<std::int64_t>(1 + random.below(50));
    const auto length = static_cast<std::int64_t>(1 + random.below(500));
    const auto read = static_cast<std::int64_t>(random.below(30));
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> asks;
    for (std::int64_t b = 0; b < blocks; ++b) asks.push(0);
    std::int64_t reader = 0, end = 0;
    for (std::int64_t left = blocks * rounds; left > 0; --left) {
      reader = std::max(reader, asks.top()) + read;
      asks.pop();
      end = reader + length;
      asks.push(end);
    }
    Device device = polled(read, 0);
    device.sms = 1;
    device.sm.blocks = blocks;
    Kernel kernel = sixteen_blocks();
    kernel.block = {32, 1, 1};
    kernel.block_tasks = {blocks * rounds};
    kernel.time = Duration{length * rounds};
    INFO(blocks << " blocks, " << rounds << " rounds of " << length << ", reads of " << read);
    const std::int64_t formula = mechanism_from("basic")->running_time(kernel, device).ns;
    const std::int64_t round = std::max(length + read, blocks * read);
    REQUIRE(end >= formula);
    REQUIRE(end <= formula + round);
  }
}

TEST_CASE("proxy: one block of sixteen does no work, and each block-task costs a read of device memory") {
  const auto proxy = mechanism_from("proxy");
  // Eleven waves instead of ten, and 160 * 3 / 15.
  CHECK(proxy->running_time(sixteen_blocks(), polled(100, 3)) == Duration{1760 + 32});
  const CommandDelays delays = proxy->delays(sixteen_blocks(), polled(100, 3));
  CHECK(delays.seen == Duration{150});
  CHECK(delays.drain == Duration{163});
  SECTION("what an eviction was measured to take beside its longest block-task") {
    Device measured = polled(100, 3);
    measured.polls->proxy = Duration{470};
    CHECK(proxy->delays(sixteen_blocks(), measured).seen == Duration{470});
    CHECK(proxy->delays(sixteen_blocks(), measured).drain == Duration{163});
    CHECK(mechanism_from("basic")->delays(sixteen_blocks(), measured).seen == Duration{0});
  }
  SECTION("a last wave with room for one more costs what the others lose") {
    Kernel more = sixteen_blocks();
    more.block_tasks = {150};  // 1600 * 16 / 15
    CHECK(proxy->running_time(more, polled(100, 0)) == Duration{1707});
  }
  SECTION("a kernel of one full wave takes two, as on an H100: 104 us and 202 us") {
    Kernel one = sixteen_blocks();
    one.block_tasks = {16};
    CHECK(proxy->running_time(one, polled(100, 0)) == Duration{3200});
  }
  SECTION("a place that nobody needs costs nothing") {
    Kernel few = sixteen_blocks();
    few.block_tasks = {15};
    CHECK(proxy->running_time(few, polled(100, 0)) == Duration{1600});
  }
  SECTION("a measured eviction delay is taken as it is") {
    Kernel measured = sixteen_blocks();
    measured.eviction_delay = Duration{500};
    CHECK(proxy->delays(measured, polled(100, 3)).seen == Duration{150});
    CHECK(proxy->delays(measured, polled(100, 3)).drain == Duration{350});
    CHECK(proxy->delays(measured, polled(100, 3)).drain_work == Duration{175});
    measured.useful = 0.2;
    CHECK(proxy->delays(measured, polled(100, 3)).drain_work == Duration{70});
  }
  SECTION("without room for a second block there is no proxy") {
    Device small = polled(100, 3);
    small.sms = 1;
    small.sm.threads = 512;
    CHECK(proxy->refusal(sixteen_blocks(), small)->expected ==
          "room for 2, because one of them is the proxy");
    CHECK_FALSE(proxy->refusal(sixteen_blocks(), polled(100, 3)));
    CHECK(proxy->refusal(sixteen_blocks(), small_device())->expected ==
          "`polls` in the device file of small");
  }
}

TEST_CASE("adaptive checking: a look every k block-tasks") {
  const auto with = [](const std::string& params) {
    return mechanism_from("{name: proxy-adaptive, params: {" + params + "}}");
  };
  const Device device = polled(100, 3);
  // 10 us / 10 looks: one every 1000 ns, which is 6 block-tasks of 160 ns. 160 * 3 / (15 * 6) = 5.3.
  CHECK(with("L: 10 us")->delays(sixteen_blocks(), device).drain == Duration{6 * 160 + 3});
  CHECK(with("L: 10 us")->running_time(sixteen_blocks(), device) == Duration{1760 + 6});
  // Sampled from first block-tasks of twice the length: 1000 / 320 = 3.
  CHECK(with("L: 10 us, first_block_task: 2")->delays(sixteen_blocks(), device).drain ==
        Duration{3 * 160 + 3});
  // As printed: 10 * 10 us / 160 ns = 625, more than there are.
  CHECK(with("L: 10 us, interval: as-printed")->delays(sixteen_blocks(), device).drain ==
        Duration{160 * 160 + 3});
  // A slice shorter than the looks in it: every block-task.
  CHECK(with("L: 1 us")->delays(sixteen_blocks(), device).drain == Duration{163});
  CHECK_THROWS_AS(with("r: 0"), InputError);
  CHECK_THROWS_AS(with("L: 0 us"), InputError);
}

TEST_CASE("slice: blocks of a given length follow each other after what a block's end takes") {
  for (const char* name : {"slice", "microkernel"}) {
    const auto mechanism = mechanism_from(name);
    Kernel kernel = sixteen_blocks();  // ten waves
    Device device = small_device();
    device.delays.block_end = Duration{5};
    CHECK(mechanism->running_time(kernel, device) == Duration{1600});
    kernel.block_task_length = Duration{160};
    CHECK(mechanism->running_time(kernel, device) == Duration{1645});
    kernel.block_task_length = Duration{155};  // 1595
    CHECK(mechanism->running_time(kernel, device) == Duration{1600});
  }
}

TEST_CASE("pkm: after each slice the most urgent kernel's next one is launched") {
  // 40 block-tasks in waves of 16: three waves of 100.
  Client a = prior(client("A", 0, 300), 0), b = prior(client("B", 50, 50), 1);
  a.kernels[0].block_tasks = {40};
  b.kernels[0].block_tasks = {8};
  a.kernels[0].block = b.kernels[0].block = {512, 1, 1};
  Scenario scenario{{a, b}};
  scenario.mechanism = "slice";
  const std::string slices = "{name: pkm, params: {slice: block-tasks, block_tasks: ";
  SECTION("slices of one wave") {
    CHECK(play(scenario, slices + "16}}").lines ==
          Lines{"0 A launch", "10 A start", "110 A gone 16", "111 A budget", "111 B launch", "121 B start",
                "171 B gone 8", "172 B completed", "172 B finished", "172 A launch", "182 A start",
                "282 A gone 16", "283 A budget", "283 A launch", "293 A start", "393 A gone 8",
                "394 A completed", "394 A finished"});
  }
  SECTION("a slice of 20 takes two waves for them: four in all") {
    scenario.clients.pop_back();
    CHECK(play(scenario, slices + "20}}").lines ==
          Lines{"0 A launch", "10 A start", "210 A gone 20", "211 A budget", "211 A launch", "221 A start",
                "421 A gone 20", "422 A completed", "422 A finished"});
  }
  SECTION("a policy that evicts waits in vain") {
    CHECK(play(scenario, "piv").lines[1] == "10 A start");
    CHECK(play(scenario, "piv").lines[2] == "50 A evict");
    CHECK(play(scenario, "piv").lines[3] == "310 A gone 40");
  }
}

TEST_CASE("pkm: as many whole waves as the latency allows") {
  Client a = client("A", 0, 300);
  a.kernels[0].block_tasks = {48};  // three waves of 10 us
  a.kernels[0].block = {512, 1, 1};
  Scenario scenario = hundreds({a});
  scenario.mechanism = "slice";
  const auto launches = [&](const std::string& latency) {
    std::vector<std::int64_t> done;
    for (const Record& r : play(scenario, "{name: pkm, params: {latency: " + latency + "}}").records)
      if (r.mark == Mark::gone) done.push_back(r.amount);
    return done;
  };
  CHECK(launches("10 us") == std::vector<std::int64_t>{16, 16, 16});
  CHECK(launches("20 us") == std::vector<std::int64_t>{32, 16});
  CHECK(launches("29 us") == std::vector<std::int64_t>{32, 16});
  CHECK(launches("30 us") == std::vector<std::int64_t>{48});
  CHECK(launches("1 us") == std::vector<std::int64_t>{16, 16, 16});  // one wave is the least
}

TEST_CASE("host work delays a relaunch, until a signal where there is one") {
  Client a = prior(client("A", 0, 100), 0);
  a.kernels[0].host_work = Duration{90};
  Scenario scenario{{a, prior(client("B", 20, 20), 1)}};
  scenario.device.polls = PollCosts{};
  const auto lines = [&](const std::string& mechanism) {
    scenario.mechanism = mechanism;
    const Lines all = play(scenario, "piv").lines;
    return Lines(all.begin() + 10, all.end());
  };
  // Evicted at 20 with 10 + 3 done, gone at 26, reported at 27; B is through at 58. The host works until 90.
  CHECK(lines("{name: basic, params: {relaunch: wait}}") ==
        Lines{"58 A launch", "100 A start", "187 A gone 87", "188 A completed", "188 A finished"});
  CHECK(lines("{name: basic, params: {signal_after: 10 ns}}") ==
        Lines{"58 A launch", "78 A start", "165 A gone 87", "166 A completed", "166 A finished"});
  // The scheduler of flag-copy launches by itself. Ordered at 20, seen at 22: 12 + 3 done, gone 28, known 33.
  scenario.mechanism = "flag-copy";
  CHECK(play(scenario, "piv").lines[5] == "33 B launch");
  CHECK(play(scenario, "piv").lines[10] == "68 A launch");
  CHECK(play(scenario, "piv").lines[11] == "78 A start");
}

TEST_CASE("a host computes before it submits a kernel") {
  Client a = client("A", 0, 20);
  a.kernels.push_back(a.kernels[0]);
  a.kernels[0].gap = Duration{7};
  a.kernels[1].gap = Duration{30};
  a.repeat = {2, std::nullopt, Duration{0}};
  const Played played = play({{a, client("B", 1, 10)}}, "fcfs");
  // A is told at 7 while B runs (11-21, known at 26), again at 61 + 30 and, its second job, at 126 + 7.
  CHECK(played.lines == Lines{"1 B launch",      "11 B start",      "21 B gone 10",  "26 B completed",
                              "26 B finished",   "26 A launch",     "36 A start",    "56 A gone 20",
                              "61 A completed",  "91 A launch",     "101 A start",   "121 A gone 20",
                              "126 A completed", "126 A finished",  "133 A launch",  "143 A start",
                              "163 A gone 20",   "168 A completed", "198 A launch",  "208 A start",
                              "228 A gone 20",   "233 A completed", "233 A finished"});
  CHECK(played.jobs[1].standalone == Duration{77});
}

TEST_CASE("gaps are drawn once for each job") {
  Client a = client("A", 0, 20);
  a.kernels.push_back(a.kernels[0]);
  for (Kernel& kernel : a.kernels) kernel.gap = Duration{1000};
  a.repeat = {200, std::nullopt, Duration{0}};
  Scenario scenario{{a}};
  scenario.jitter.gap = 0.3;
  std::int64_t least = 5000, most = 0, sum = 0;
  for (const JobResult& job : play(scenario, "fcfs").jobs) {
    const std::int64_t gaps = (job.response() - Duration{70}).ns;
    CHECK(gaps % 2 == 0);  // both are the same
    least = std::min(least, gaps);
    most = std::max(most, gaps);
    sum += gaps;
  }
  CHECK((least >= 1400 && least < 1420));
  CHECK((most <= 2600 && most > 2580));
  CHECK(std::abs(sum / 200 - 2000) < 100);
}

TEST_CASE("a program goes on when its host thread does") {
  Client a = client("A", 0, 20);
  a.kernels[0].host_work = Duration{100};
  a.kernels.push_back(client("A", 0, 30).kernels[0]);
  a.kernels[1].host_work = Duration{50};
  const Played played = play({{a, client("B", 1, 10)}}, "fcfs");
  CHECK(played.lines == Lines{"0 A launch", "10 A start", "30 A gone 20", "35 A completed", "35 B launch",
                              "45 B start", "55 B gone 10", "60 B completed", "60 B finished", "100 A launch",
                              "110 A start", "140 A gone 30", "145 A completed", "150 A finished"});
  CHECK(played.jobs[1].standalone == Duration{150});
}
