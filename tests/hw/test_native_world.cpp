// Native clients in this process and in processes of their own, with a player that needs no device: each
// process is a thread of the test behind two named pipes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "hw/native/native_world.hpp"
#include "hw/native/plan.hpp"
#include "hw/native/process.hpp"
#include "hw/native/wire.hpp"
#include "models/error.hpp"
#include "models/run/lateness.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

// Each operation takes as long as what was issued before it in its stream, and 10 us (a copy), 100 us (busy
// blocks) or 200 us (code) more.
class MadeUpPlayer : public NativePlayer {
 public:
  explicit MadeUpPlayer(NativeSetup setup) : setup_(std::move(setup)) {}

  void prepare(const NativeRun& run) override { run_ = &run; }

  NativeMeasurement play(HostClock::Instant origin, const std::function<bool()>& stopped) override {
    NativeMeasurement measured;
    measured.issued.resize(run_->operations.size());
    for (const NativeRelease& release : run_->releases) {
      while (HostClock::now() < origin + (release.time - Time{}))
        if (stopped()) return measured;
      measured.late.push_back(HostClock::now() - (origin + (release.time - Time{})));
      for (std::size_t i = 0; i < release.count; ++i)
        measured.issued[measured.operations++] = Time{} + (HostClock::now() - origin);
      ++measured.releases;
    }
    return measured;
  }

  void collect(NativeMeasurement& measured) override {
    std::vector<Time> free(setup_.streams.size());
    measured.began.resize(run_->starts);
    measured.ended.resize(run_->events);
    measured.blocks.resize(run_->stamps);
    measured.uncertainty = 3_ns;
    for (std::size_t i = 0; i < measured.operations; ++i) {
      const NativeOperation& o = run_->operations[i];
      const Time began = std::max(free[o.stream], measured.issued[i]);
      const Time ended = began + (o.copy ? 10_us : o.coded ? 200_us : 100_us);
      free[o.stream] = ended;
      if (o.timed_by_event()) measured.ended[o.event] = ended;
      if (o.coded) measured.began[o.start] = began;
      if (o.timed_by_event()) continue;
      const std::uint32_t blocks = setup_.kernels[o.job.client.index].at(o.kernel).blocks;
      for (std::uint32_t b = 0; b < blocks; ++b) measured.blocks[o.first_stamp + b] = {began, ended, b};
    }
  }

  void poison() override { poisoned_ = true; }
  std::string difference() override { return poisoned_ ? "all of it" : ""; }

 private:
  const NativeSetup setup_;
  const NativeRun* run_ = nullptr;
  bool poisoned_ = false;
};

// What a test does while a player is made.
std::function<void(const NativeSetup&)> while_made = [](const NativeSetup&) {};

std::unique_ptr<NativePlayer> made_up(const NativeSetup& setup) {
  while_made(setup);
  if (setup.longest_copy.count == 13) throw RunError("out of device memory");
  return std::make_unique<MadeUpPlayer>(setup);
}

// Processes that only pass on what they are asked, and threads that answer.
class Relays {
 public:
  Relays() { now = this; }
  ~Relays() {
    for (std::thread& thread : threads_) thread.join();
    now = nullptr;
  }
  static std::vector<std::string> command() { return now->next(); }

 private:
  std::vector<std::string> next() {
    const std::string asked = (folder_ / ("asked" + std::to_string(threads_.size()))).string();
    const std::string answered = asked + "-answered";
    REQUIRE(mkfifo(asked.c_str(), 0600) == 0);
    REQUIRE(mkfifo(answered.c_str(), 0600) == 0);
    threads_.emplace_back([asked, answered] {
      const int in = open(asked.c_str(), O_RDONLY | O_CLOEXEC);
      const int out = open(answered.c_str(), O_WRONLY | O_CLOEXEC);
      play_as_asked(in, out, made_up);
      close(in), close(out);
    });
    return {"sh", "-c", "exec 3<&0; cat <&3 > \"$1\" & cat < \"$2\"", "relay", asked, answered};
  }

  static inline Relays* now = nullptr;
  ScratchFolder folder_;
  std::list<std::thread> threads_;
};

// The world asks for the command once: all its processes are alike.
std::vector<std::string> alike() {
  return {"sh", "-c",
          "d=$(mktemp -d \"$GANGWAY_RELAYS/XXXXXX\"); mkfifo $d/in $d/out; mv $d $d.ready; d=$d.ready;"
          " exec 3<&0; cat <&3 > $d/in & cat < $d/out; rm -r $d"};
}

// Answers each process that appears in a folder.
class Answerers {
 public:
  Answerers() {
    setenv("GANGWAY_RELAYS", folder_.path().c_str(), 1);
    watch_ = std::thread([this] { watch(); });
  }
  ~Answerers() {
    over_ = true;
    watch_.join();
    for (std::thread& thread : threads_) thread.join();
    unsetenv("GANGWAY_RELAYS");
  }
  std::size_t count() const { return count_; }

 private:
  void watch() {
    std::vector<std::string> known;
    for (; !over_; usleep(1000))
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        const std::string name = entry.path().string();
        if (!name.ends_with(".ready") || std::find(known.begin(), known.end(), name) != known.end()) continue;
        known.push_back(name);
        ++count_;
        threads_.emplace_back([name] {
          const int in = open((name + "/in").c_str(), O_RDONLY | O_CLOEXEC);
          const int out = open((name + "/out").c_str(), O_WRONLY | O_CLOEXEC);
          play_as_asked(in, out, made_up);
          close(in), close(out);
        });
      }
  }

  ScratchFolder folder_;
  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> count_ = 0;
  std::list<std::thread> threads_;
  std::thread watch_;
};

struct Scene {
  Scene() {
    device.priorities = 6;
    for (const char* name : {"busy", "code", "late"}) {
      Client& client = workload.clients.emplace_back();
      client.name = name;
      client.arrive = Duration{};
      Kernel kernel;
      kernel.name = "k";
      kernel.block_tasks = {2};
      kernel.block_task_length = 100_us;
      client.kernels.assign(2, kernel);
    }
    workload.clients[0].copy_in = {64};
    for (Kernel& kernel : workload.clients[1].kernels) {
      kernel.code_text = "{name: VA, params: {elements: 20000, per_thread: 8}}";
      kernel.code = setup_from_wire({{"longest_copy", 0},
                                     {"watchdog", 0},
                                     {"streams", nlohmann::json::array()},
                                     {"stream_of", nlohmann::json::array()},
                                     {"kernels", {{{1, {1, 1, 1}, 0, 0, 1, kernel.code_text, 1}}}}})
                        .kernels[0][0]
                        .code;
      kernel.block_tasks = kernel.code->block_tasks();
    }
    workload.clients[2].arrive = 2_ms;
  }
  WorldSetup setup() const { return {.workload = workload, .device = device, .mechanism = *mechanism}; }
  void turns() {
    device.arbitration = Arbitration::timeslice;
    device.time_slice = TimeSlice{2_ms, 100_us};
  }

  Workload workload;
  Device device = small_device();
  std::unique_ptr<Mechanism> mechanism = mechanism_from("flag-copy");
};

struct Heard : TraceSink {
  void record(const Record& r) override {
    if (r.mark == Mark::released) released[r.job] = r.time;
    if (r.mark == Mark::finished) finished[r.job] = r.time;
    kernels += r.mark == Mark::gone;
  }
  void blocks(const BlockSpan&) override {}
  bool wants_blocks() const override { return false; }
  void uncertain(Duration clock) override { uncertainty = clock; }
  bool stopped() const override { return stop; }
  void late(const Lateness& l) override { releases = l.count(); }
  Duration response(std::uint32_t client) const {
    const JobId job{ClientId{client}, 0};
    return finished.at(job) - released.at(job);
  }

  std::map<JobId, Time> released, finished;
  int kernels = 0;
  std::uint64_t releases = 0;
  Duration uncertainty;
  std::atomic<bool> stop = false;
};

void play(World& world, const Scene& scene, Heard& heard) {
  std::vector<std::uint32_t> order(scene.workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  const ChosenPolicy policy = policy_from("passthrough");
  world.run(*policy.entry->make(policy.values), {}, order, heard);
}

void check_played(const Heard& heard) {
  REQUIRE(heard.finished.size() == 3);
  CHECK(heard.kernels == 6);
  CHECK(heard.releases == 3);
  CHECK(heard.uncertainty == 3_ns);
  CHECK(heard.released.at({ClientId{2}, 0}) == Time{} + 2_ms);
  CHECK(heard.response(0) >= 210_us);  // a copy, then two kernels in one stream
  CHECK(heard.response(1) >= 400_us);
  CHECK(heard.response(2) >= 200_us);
  for (std::uint32_t c = 0; c < 3; ++c) CHECK(heard.response(c) < 200_ms);
}

std::vector<std::string> nobody() { throw RunError("no process was to be started"); }

}  // namespace

TEST_CASE("native clients play in this process where one context has them all") {
  Scene scene;
  for (const Arbitration arbitration : {Arbitration::fifo, Arbitration::priority}) {
    scene.device.arbitration = arbitration;
    const WorldSetup setup = scene.setup();
    const auto world = make_native_world(setup, made_up, nobody);
    for (int run = 0; run < 2; ++run) {
      Heard heard;
      play(*world, scene, heard);
      check_played(heard);
    }
  }
}

TEST_CASE("native clients of a device that takes turns play in a process each") {
  Scene scene;
  scene.turns();
  Answerers answerers;
  const WorldSetup setup = scene.setup();
  std::size_t processes = 3;
  SECTION("each by itself") {}
  SECTION("those of one context together") {
    scene.workload.clients[0].context = scene.workload.clients[2].context = "shared";
    processes = 2;
  }
  SECTION("those of one stream together") {
    scene.workload.clients[1].stream = scene.workload.clients[2].stream = "shared";
    processes = 2;
  }
  const auto world = make_native_world(setup, made_up, alike);
  CHECK(answerers.count() == processes);
  for (int run = 0; run < 3; ++run) {
    Heard heard;
    play(*world, scene, heard);
    check_played(heard);
  }
}

TEST_CASE("processes create their contexts one after the other, in the order of clients") {
  Scene scene;
  scene.turns();
  std::mutex told;
  std::vector<std::size_t> order;
  int under_way = 0, most = 0;
  while_made = [&](const NativeSetup& setup) {
    std::size_t client = 0;
    while (setup.kernels[client].empty()) ++client;
    std::unique_lock lock(told);
    most = std::max(most, ++under_way);
    lock.unlock();
    if (client == 0) usleep(100'000);  // the others would overtake it
    lock.lock();
    --under_way;
    order.push_back(client);
  };
  {
    Answerers answerers;
    const WorldSetup setup = scene.setup();
    const auto world = make_native_world(setup, made_up, alike);
  }
  while_made = [](const NativeSetup&) {};
  CHECK(order == std::vector<std::size_t>{0, 1, 2});
  CHECK(most == 1);
}

TEST_CASE("a run of processes that is stopped ends soon, and the next one is played") {
  Scene scene;
  scene.turns();
  scene.workload.clients[2].arrive = 60_s;
  Answerers answerers;
  const WorldSetup setup = scene.setup();
  const auto world = make_native_world(setup, made_up, alike);
  Heard heard;
  heard.stop = true;
  const auto began = HostClock::now();
  play(*world, scene, heard);
  CHECK(HostClock::now() - began < 10_s);
  CHECK(heard.finished.size() <= 2);
  scene.workload.clients[2].arrive = 2_ms;
  Heard again;
  play(*world, scene, again);
  check_played(again);
}

TEST_CASE("a process that cannot play says why, and which client's it is") {
  Scene scene;
  scene.turns();
  const WorldSetup setup = scene.setup();
  SECTION("in words") {
    Answerers answerers;
    scene.workload.clients[0].copy_in = {13};
    CHECK_THROWS_WITH(make_native_world(setup, made_up, alike), "native client busy: out of device memory");
  }
  SECTION("by ending") {
    CHECK_THROWS_WITH(make_native_world(setup, made_up, [] { return std::vector<std::string>{"true"}; }),
                      "the process of the native client busy has ended");
  }
  SECTION("by saying something else") {
    CHECK_THROWS_WITH(make_native_world(setup, made_up,
                                        [] {
                                          return std::vector<std::string>{"echo", "Killed"};
                                        }),
                      "the process of the native client busy answered 'Killed'");
  }
  SECTION("where there is none") {
    CHECK_THROWS_WITH(
        make_native_world(setup, made_up, [] { return std::vector<std::string>{"/nowhere/gangway"}; }),
        Catch::Matchers::ContainsSubstring("/nowhere/gangway"));
  }
}

TEST_CASE("a process tells whether its outputs are right") {
  Scene scene;
  Relays relays;
  const NativePlan plan(scene.setup());
  NativeProcess process("a", Relays::command(), {});
  process.ask({{"setup", wire(plan.on_device())}});
  process.answer();
  process.ask({{"difference", true}});
  CHECK(process.answer() == "");
  process.ask({{"poison", true}});
  process.answer();
  process.ask({{"difference", true}});
  CHECK(process.answer() == "all of it");
  process.ask({{"dance", true}});
  CHECK_THROWS_WITH(process.answer(), "native client a: an unknown request: {\"dance\":true}");
}

TEST_CASE("what native clients are and do goes over the wire unchanged") {
  Scene scene;
  NativePlan plan(scene.setup());
  const std::vector<std::uint32_t> order{0, 1, 2};
  plan.lay_out({}, order);
  const auto json = nlohmann::json::parse(wire(plan.on_device()).dump());
  const NativeSetup setup = setup_from_wire(json);
  CHECK(wire(setup) == json);
  CHECK(setup.streams == plan.on_device().streams);
  REQUIRE(setup.kernels[1][0].code != nullptr);
  CHECK(setup.kernels[1][0].code->block_tasks() == plan.on_device().kernels[1][0].code->block_tasks());
  CHECK(setup.kernels[1][1].input_seed == (std::uint64_t{2} << 32 | 2) + 1);
  CHECK(setup.kernels[0][0].length == 100_us);
  const NativeRun run = run_from_wire(nlohmann::json::parse(wire(plan.run()).dump()));
  CHECK(wire(run) == wire(plan.run()));
  CHECK(run.stamps == 8);
  CHECK(run.events == 3);
  CHECK(run.starts == 2);
  CHECK(run.operations.back().first_stamp == plan.run().operations.back().first_stamp);
}

// By hand: a copy (event 0) and two busy kernels of 2 blocks (stamps 0-3); two kernels of code (events 1 and
// 2, starts 0 and 1); later two busy kernels (stamps 4-7).
TEST_CASE("parts of a run are numbered anew, and what they measured finds its place") {
  Scene scene;
  NativePlan plan(scene.setup());
  const std::vector<std::uint32_t> order{0, 1, 2};
  plan.lay_out({}, order);
  const std::vector<NativePart> parts{part_of(plan.run(), plan.on_device(), {0}),
                                      part_of(plan.run(), plan.on_device(), {1, 2})};
  CHECK(parts[1].operations == std::vector<std::size_t>{3, 4, 5, 6});
  CHECK(parts[1].run.operations[1].event == 1);
  CHECK(parts[1].run.operations[2].first_stamp == 0);
  CHECK(part_of(plan.on_device(), {1, 2}).kernels[0].empty());
  CHECK(part_of(plan.on_device(), {1, 2}).streams.size() == 2);
  CHECK(part_of(plan.on_device(), {1, 2}).stream_of == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(parts[1].run.operations[1].stream == 0);
  CHECK(parts[1].run.operations[3].stream == 1);

  const auto at = [](std::int64_t ns) { return Time{ns}; };
  std::vector<NativeMeasurement> measured(2);
  measured[0].issued = {at(1), at(2), at(3)};
  measured[0].ended = {at(10)};
  measured[0].blocks = {{at(11), at(12), 0}, {at(13), at(14), 0}, {at(15), at(16), 0}, {at(17), at(18), 0}};
  measured[0].operations = 3, measured[0].releases = 1;
  measured[0].late = {5_ns};
  measured[1].issued = {at(4), at(5), at(6), at(7)};
  measured[1].began = {at(20), at(22)};
  measured[1].ended = {at(21), at(23)};
  measured[1].blocks = {{at(31), at(32), 0}, {at(33), at(34), 0}, {at(35), at(36), 0}, {at(37), at(38), 0}};
  measured[1].operations = 4, measured[1].releases = 2;
  measured[1].late = {6_ns, 7_ns};
  measured[1].uncertainty = 9_ns;
  const NativeMeasurement all = together(plan.run(), parts, measured);
  CHECK(all.issued == std::vector{at(1), at(2), at(3), at(4), at(5), at(6), at(7)});
  CHECK(all.ended == std::vector{at(10), at(21), at(23)});
  CHECK(all.began == std::vector{at(20), at(22)});
  REQUIRE(all.blocks.size() == 8);
  CHECK(all.blocks[3].ended == at(18));
  CHECK(all.blocks[4].began == at(31));
  CHECK(all.operations == 7);
  CHECK(all.releases == 3);
  CHECK(all.late.size() == 3);
  CHECK(all.uncertainty == 9_ns);

  // The first process was stopped before its release: nothing can be told in order behind that.
  measured[0].operations = measured[0].releases = 0;
  const NativeMeasurement rest = together(plan.run(), parts, measured);
  CHECK(rest.releases == 0);
  CHECK(rest.operations == 0);
}

}  // namespace gangway::testing
