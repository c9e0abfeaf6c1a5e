// Several GPUs in the simulated world: schedules worked out by hand from sim/memory/README.md. Launch 10,
// report 5, copies 5 + 1 ns per byte; a GPU has room for one block at a time, which takes 100 ns.
#include <set>

#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/memory/memory_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client blocks(const std::string& name, std::int64_t arrive, std::int64_t count) {
  Client c = client(name, arrive, 100 * count);
  c.kernels[0].block_tasks = {count};
  return c;
}

Variable mapped(const std::string& name, std::int64_t each, std::int64_t count) {
  Variable variable{name, Bytes{each * count}};
  variable.map = BlockMap{{}, Bytes{each}, Bytes{each}};
  return variable;
}

// Each block reads a byte of its own and writes two.
Client by_blocks(const std::string& name, std::int64_t arrive, std::int64_t count) {
  Variable out = mapped("out", 2, count);
  out.input = false;
  out.dirty = out.output = true;
  return with_variables(blocks(name, arrive, count), {mapped("in", 1, count), out});
}

// All blocks read ten bytes and write to `bytes` others.
Client by_all(const std::string& name, std::int64_t count, std::int64_t bytes) {
  return with_variables(blocks(name, 0, count),
                        {{"in", Bytes{10}}, {"sum", Bytes{bytes}, false, true, true}});
}

Scenario gpus(std::int64_t count, std::vector<Client> clients) {
  Scenario scenario{std::move(clients)};
  scenario.device.gpus = count;
  scenario.device.sms = 1;
  scenario.device.sm.threads = 256;
  return scenario;
}

std::string microkernels(std::int64_t block_tasks, const std::string& more = "") {
  return "{name: microkernel-rr, params: {blocks: block-tasks, block_tasks: " + std::to_string(block_tasks) +
         more + "}}";
}

std::size_t gpus_used(const Played& played) {
  std::set<std::uint8_t> used;
  for (const Record& r : played.records)
    if (r.mark == Mark::launch_ordered) used.insert(r.gpu);
  return used.size();
}

}  // namespace

TEST_CASE("several GPUs: each process has one of its own", "[memory][gpus]") {
  const Played played =
      play(gpus(2, {with_memory(blocks("A", 0, 3), 20), with_memory(blocks("B", 0, 1), 40)}),
           microkernels(2, ", split: never"));
  // Nobody waits for the GPU of another: A runs on.
  CHECK(gpu_lines(played) == Lines{"0: 0 holds A 20", "0: 25 restore A", "0: 25 launch A 0", "0: 35 start A",
                                   "0: 235 gone A 2", "0: 240 launch A 2", "0: 250 start A",
                                   "0: 350 gone A 1", "0: 355 holds A 0", "1: 0 holds B 40",
                                   "1: 45 restore B", "1: 45 launch B 0", "1: 55 start B", "1: 155 gone B 1",
                                   "1: 160 holds B 0", "160 finished B", "355 finished A"});
  CHECK(played.totals.executing == Duration{300 + 100});
  CHECK(played.totals.utilisation() == Approx(400.0 / (2 * 355)));
}

TEST_CASE("several GPUs: a process goes where the owner came first", "[memory][gpus]") {
  // C is prepared on GPU 0, whose owner came at 25, that of GPU 1 at 45. A yields to it at 140, is saved
  // until 165 and goes to GPU 0 again, where C came at 140; B came to GPU 1 anew at 160.
  const Played played = play(gpus(2, {with_memory(blocks("A", 0, 2), 20), with_memory(blocks("B", 0, 3), 40),
                                      with_memory(blocks("C", 60, 1), 30)}),
                             microkernels(1));
  CHECK(gpu_lines(played) ==
        Lines{"0: 0 holds A 20",   "0: 25 restore A",  "0: 25 launch A 0", "0: 35 start A",
              "0: 60 holds C 30",  "0: 95 restore C",  "0: 135 gone A 1",  "0: 140 launch C 0",
              "0: 150 start C",    "0: 165 save A",    "0: 165 holds A 0", "0: 165 holds A 20",
              "0: 190 restore A",  "0: 250 gone C 1",  "0: 255 holds C 0", "0: 255 launch A 1",
              "0: 265 start A",    "0: 365 gone A 1",  "0: 370 holds A 0", "1: 0 holds B 40",
              "1: 45 restore B",   "1: 45 launch B 0", "1: 55 start B",    "1: 155 gone B 1",
              "1: 160 launch B 1", "1: 170 start B",   "1: 270 gone B 1",  "1: 275 launch B 2",
              "1: 285 start B",    "1: 385 gone B 1",  "1: 390 holds B 0", "255 finished C",
              "370 finished A",    "390 finished B"});
}

TEST_CASE("several GPUs: a kernel with a map is split, and each GPU holds its part", "[memory][gpus]") {
  Scenario scenario = gpus(2, {by_blocks("A", 0, 10)});
  SECTION("each on a link of its own") {
    const Played played = play(scenario, microkernels(60));
    CHECK(gpu_lines(played) ==
          Lines{"0: 0 holds A 15", "0: 10 restore A", "0: 10 launch A 0", "0: 20 start A", "0: 520 gone A 5",
                "0: 540 out A", "0: 540 holds A 0", "1: 0 holds A 15", "1: 10 restore A", "1: 10 launch A 5",
                "1: 20 start A", "1: 520 gone A 5", "1: 540 out A", "1: 540 holds A 0", "540 finished A"});
    CHECK(played.jobs[0].executing == Duration{500});
    CHECK(played.jobs[0].waiting() == Duration{540 - 500 - 15});
    CHECK(played.totals.utilisation() == Approx(500.0 / 540));
  }
  SECTION("on one bus") {  // both restores, and both copies out, at half the speed
    scenario.device.bus = Bandwidth{1'000'000'000};
    const Played played = play(scenario, microkernels(60));
    CHECK(copy_lines(played) == Lines{"20 restore A", "20 restore A", "565 out A", "565 out A"});
    CHECK(played.lines.back() == "565 A finished");
  }
  SECTION("never, if the policy says so") {
    CHECK(gpus_used(play(scenario, microkernels(60, ", split: never"))) == 1);
  }
}

TEST_CASE("several GPUs: without a map each has a copy, and the host merges them", "[memory][gpus]") {
  Scenario scenario = gpus(2, {by_all("A", 10, 30)});
  scenario.device.merge = Bandwidth{1'000'000'000};
  SECTION("behind the last kernel") {
    // Restored until 15, run 25-525, known at 530; 30 bytes of each until 565, 60 merged until 625.
    CHECK(gpu_lines(play(scenario, microkernels(60))) ==
          Lines{"0: 0 holds A 40", "0: 15 restore A", "0: 15 launch A 0", "0: 25 start A", "0: 525 gone A 5",
                "0: 565 save A", "0: 625 holds A 0", "1: 0 holds A 40", "1: 15 restore A", "1: 15 launch A 5",
                "1: 25 start A", "1: 525 gone A 5", "1: 565 save A", "1: 625 holds A 0", "625 merged A",
                "625 finished A"});
  }
  SECTION("and behind each kernel") {
    // The second call waits until 625, then both GPUs need what was merged, until 660.
    scenario.clients[0].kernels.push_back(scenario.clients[0].kernels[0]);
    const Played played = play(scenario, microkernels(60));
    CHECK(copy_lines(played) == Lines{"15 restore A", "15 restore A", "565 save A", "565 save A",
                                      "660 restore A", "660 restore A", "1210 save A", "1210 save A"});
    CHECK(played.lines.back() == "1270 A finished");
  }
  SECTION("but not where that takes longer than what is gained") {
    // 500 ns to gain, 4 copies of 125 bytes and 10 bytes of inputs.
    CHECK(gpus_used(play(gpus(2, {by_all("A", 10, 122)}), microkernels(60))) == 2);
    CHECK(gpus_used(play(gpus(2, {by_all("A", 10, 123)}), microkernels(60))) == 1);
  }
}

TEST_CASE("several GPUs: a split process leaves one for who comes, and takes it again", "[memory][gpus]") {
  // B is prepared on GPU 0, gets it when A yields at 225 and has it until 440. A's blocks 0 and 1 were saved
  // there (4 bytes, until 234); from 440 on GPU 0 takes what it left, blocks 2 to 4, and at 555 GPU 1, which
  // is through with its own, takes block 4.
  const Played played =
      play(gpus(2, {by_blocks("A", 0, 10), with_memory(blocks("B", 100, 2), 20)}), microkernels(2));
  CHECK(gpu_lines(played) ==
        Lines{"0: 0 holds A 15",   "0: 10 restore A",   "0: 10 launch A 0",  "0: 20 start A",
              "0: 100 holds B 20", "0: 125 restore B",  "0: 220 gone A 2",   "0: 225 launch B 0",
              "0: 234 save A",     "0: 234 holds A 0",  "0: 235 start B",    "0: 435 gone B 2",
              "0: 440 holds B 0",  "0: 440 holds A 9",  "0: 448 restore A",  "0: 448 launch A 2",
              "0: 458 start A",    "0: 561 holds A 6",  "0: 658 gone A 2",   "0: 685 out A",
              "0: 693 holds A 0",  "1: 0 holds A 15",   "1: 10 restore A",   "1: 10 launch A 5",
              "1: 20 start A",     "1: 220 gone A 2",   "1: 225 launch A 7", "1: 235 start A",
              "1: 435 gone A 2",   "1: 440 launch A 9", "1: 450 start A",    "1: 550 gone A 1",
              "1: 555 holds A 18", "1: 561 restore A",  "1: 561 launch A 4", "1: 571 start A",
              "1: 671 gone A 1",   "1: 693 out A",      "1: 693 holds A 0",  "440 finished B",
              "693 finished A"});
}

TEST_CASE("several GPUs: a process that has too many for two leaves some of them", "[memory][gpus]") {
  // A has all four when B comes; two are B's soon, one after the other.
  const Played played = play(gpus(4, {by_blocks("A", 0, 400), by_blocks("B", 100, 400)}), microkernels(2));
  std::set<std::uint8_t> of_a, of_b;
  for (const Record& r : played.records) {
    if (r.mark == Mark::finished) break;
    if (r.mark != Mark::launch_ordered || r.time < Time{2'000}) continue;
    (r.job.client == ClientId{0} ? of_a : of_b).insert(r.gpu);
  }
  CHECK(of_a.size() == 2);
  CHECK(of_b.size() == 2);
}

TEST_CASE("several GPUs: what one has changed is saved before another one needs it", "[memory][gpus]") {
  // A's first call begins while B has GPU 1, and runs on GPU 0 alone. Its second one is split: all that the
  // first one wrote is saved from 1030 to 1055, then each GPU gets its half (15 bytes, until 1075).
  Client a = by_blocks("A", 0, 10);
  a.kernels.push_back(a.kernels[0]);
  const Played played = play(gpus(2, {a, with_memory(blocks("B", 0, 1), 20)}), microkernels(60));
  CHECK(gpu_lines(played) ==
        Lines{"0: 0 holds A 30",    "0: 15 restore A",    "0: 15 launch A 0",   "0: 25 start A",
              "0: 1025 gone A 10",  "0: 1055 save A",     "0: 1055 holds A 0",  "0: 1055 holds A 15",
              "0: 1075 restore A",  "0: 1075 launch A 0", "0: 1085 start A",    "0: 1585 gone A 5",
              "0: 1605 out A",      "0: 1605 holds A 0",  "1: 0 holds B 20",    "1: 25 restore B",
              "1: 25 launch B 0",   "1: 35 start B",      "1: 135 gone B 1",    "1: 140 holds B 0",
              "1: 1055 holds A 15", "1: 1075 restore A",  "1: 1075 launch A 5", "1: 1085 start A",
              "1: 1585 gone A 5",   "1: 1605 out A",      "1: 1605 holds A 0",  "140 finished B",
              "1605 finished A"});
}

TEST_CASE("several GPUs: calls of one kernel find their parts where the last call left them",
          "[memory][gpus]") {
  Client a = by_blocks("A", 0, 10);
  for (int i = 0; i < 3; ++i) a.kernels.push_back(a.kernels[0]);
  const Played played = play(gpus(2, {a}), microkernels(60));
  CHECK(copy_lines(played) == Lines{"10 restore A", "10 restore A", "2085 out A", "2085 out A"});
}

TEST_CASE("several GPUs: what a restore under way brings is not copied once more", "[memory][gpus]") {
  const JobId a{ClientId{0}, 0};
  const DeviceId gpu{1};
  std::vector<Bytes> copied, taken;
  const Orderly::Say look = [&](const View& view, Orders&) {
    copied.push_back(view.memory().copies(a, gpu, kAllBlocks));
    taken.push_back(view.memory().takes(a, gpu, kAllBlocks));
  };
  const auto restore = [&](std::int64_t blocks) -> Orderly::Say {
    return [=](const View& v, Orders& o) {
      look(v, o);
      o.restore(a, gpu, {{}, {blocks}});
      look(v, o);
    };
  };
  SECTION("of what all blocks share") {
    Orderly policy({restore(10), look});
    Scenario scenario = gpus(2, {by_all("A", 10, 30)});
    scenario.horizon = Time{1'000'000};
    play(scenario, policy);
    CHECK(copied == std::vector{Bytes{10}, Bytes{}, Bytes{}});
    CHECK(taken == std::vector{Bytes{40}, Bytes{}, Bytes{}});
  }
  SECTION("of what each block has") {
    Orderly policy({restore(6), look});
    Scenario scenario = gpus(2, {by_blocks("A", 0, 10)});
    scenario.horizon = Time{1'000'000};
    play(scenario, policy);
    CHECK(copied == std::vector{Bytes{10}, Bytes{4}, Bytes{4}});
    CHECK(taken == std::vector{Bytes{30}, Bytes{12}, Bytes{12}});
  }
}

TEST_CASE("several GPUs: orders that cannot be right stop the run", "[memory][gpus]") {
  const JobId a{ClientId{0}, 0};
  const auto message = [&](std::vector<Orderly::Say> says) -> std::string {
    Orderly policy(std::move(says));
    try {
      Scenario scenario = gpus(2, {by_blocks("A", 0, 10)});
      scenario.horizon = Time{1'000'000};
      play(scenario, policy);
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto range = [](std::int64_t first, std::int64_t last) {
    return BlockRange{BlockCount{first}, BlockCount{last}};
  };
  const auto restore = [&](std::uint32_t gpu, std::int64_t first, std::int64_t last) -> Orderly::Say {
    return [=](const View&, Orders& o) { o.restore(a, DeviceId{gpu}, range(first, last)); };
  };
  const auto launch = [&](std::uint32_t gpu, std::int64_t first, std::int64_t last) -> Orderly::Say {
    return [=](const View&, Orders& o) { o.launch(a, DeviceId{gpu}, range(first, last)); };
  };
  const Orderly::Say both = [&](const View& v, Orders& o) {
    restore(0, 0, 5)(v, o), restore(1, 0, 10)(v, o);
  };
  const Orderly::Say nothing = [](const View&, Orders&) {};
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(message({restore(2, 0, 5)}), ContainsSubstring("a restore on device 2, of 2"));
  CHECK_THAT(message({restore(0, 0, 5), launch(0, 4, 6)}),
             ContainsSubstring("a launch of a job whose state is not on the device"));
  CHECK_THAT(message({both, [&](const View& v, Orders& o) { launch(0, 0, 5)(v, o), launch(1, 4, 6)(v, o); }}),
             ContainsSubstring("a launch of block-tasks 4 to 6 of 10, 0 of which are done"));
  CHECK_THAT(
      message({both, [&](const View& v, Orders& o) { launch(0, 0, 5)(v, o), restore(0, 5, 10)(v, o); }}),
      ContainsSubstring("a restore of the job that owns the GPU"));
  const Orderly::Say half = [&](const View& v, Orders& o) {
    restore(0, 0, 5)(v, o), restore(1, 5, 10)(v, o);
  };
  CHECK_THAT(
      message({half, [&](const View& v, Orders& o) { launch(0, 0, 5)(v, o), restore(1, 0, 5)(v, o); }}),
      ContainsSubstring("a restore of a state that another GPU has changed and not saved"));
  CHECK(message({both, launch(0, 0, 5), nothing}) == "no error");
}
