// How two contexts share a device, fitted to the stays of a made-up one of which it is known.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/library/calibration_files.hpp"
#include "hw/calibration/slice_times.hpp"
#include "hw/calibration/two_processes.hpp"
#include "models/error.hpp"
#include "models/input/document.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"
#include "workloads/source.hpp"

using namespace gangway;
using namespace gangway::literals;
using testing::ScratchFolder;

namespace {

constexpr TimeSlice kTruth{.length = 2'091_us,
                           .context_switch = 137_us,
                           .stop = 8_us,
                           .resume = 7_us,
                           .renewal = 2'400_us,
                           .linger = 6_us,
                           .choice = {},
                           .stop_full = 48_us,
                           .resume_full = 46_us};
constexpr Duration kBetween = 1_us;  // kernels of one context, and a host that launches the next

// Two contexts by the rules TS1 to TS9 of sim/recorded/README.md, a step at a time.
class MadeUpContexts : public TwoContexts {
 public:
  explicit MadeUpContexts(const TimeSlice& truth, bool mps = false) : truth_(truth), mps_(mps) {}

  std::array<std::vector<ProbeStay>, 2> run(const std::array<ProbeWork, 2>& work) override {
    std::array<Context, 2> contexts{Context{work[0]}, Context{work[1]}};
    Time now{}, slice_end{};
    std::size_t on = 0;
    bool expired = false, moving = false, stopped = false;
    Time leaves{}, arrives{};
    const auto begin_turn = [&](std::size_t c) {
      on = c;
      moving = expired = false;
      const bool goes_on = contexts[c].done > Duration{};
      slice_end = now + truth_.length;
      contexts[c].ready_at = now + (!goes_on                ? Duration{}
                                    : contexts[c].work.full ? truth_.resume_full
                                                            : truth_.resume);
    };
    begin_turn(0);
    for (; !contexts[0].over() || !contexts[1].over(); now = now + 500_ns) {
      for (Context& c : contexts) c.submit(now);
      const std::size_t other = 1 - on;
      if (mps_) {
        for (Context& c : contexts) c.advance(now, 500_ns);
        continue;
      }
      if (moving) {
        if (now >= arrives) begin_turn(other);
        continue;
      }
      Context& here = contexts[on];
      if (here.advance(now, 500_ns)) leaves = now + 500_ns;
      const bool wanted = contexts[other].wants();
      if (here.wants()) {
        if (now < slice_end && !(expired && wanted)) continue;
        if (!wanted) {
          if (here.queued() >= 2)
            slice_end = slice_end + truth_.renewal;
          else
            expired = true;
          continue;
        }
        stopped = here.stop(now + 500_ns);
        moving = true;
        arrives = now + 500_ns + truth_.context_switch +
                  (!stopped         ? Duration{}
                   : here.work.full ? truth_.stop_full
                                    : truth_.stop);
      } else if (wanted && now + 500_ns >= leaves + truth_.linger) {
        moving = true;
        arrives = std::max(now, leaves + truth_.context_switch);
      }
    }
    return {contexts[0].stays, contexts[1].stays};
  }

 private:
  struct Context {
    explicit Context(const ProbeWork& of) : work(of) {}
    ProbeWork work;
    std::vector<ProbeStay> stays;
    std::int64_t submitted = 0, ended = 0;
    Duration done{};  // of the kernel at hand
    bool running = false;
    Time next_submission{}, ready_at{};

    bool over() const { return ended == work.kernels; }
    bool wants() const { return submitted > ended; }
    std::int64_t queued() const { return submitted - ended; }
    void submit(Time now) {
      if (submitted == work.kernels || now < next_submission) return;
      if (work.pace == ProbeWork::Pace::queued) {
        submitted = work.kernels;
      } else if (work.pace == ProbeWork::Pace::steady || submitted == ended) {
        ++submitted;
        next_submission = now + work.pause;
      }
    }
    // Whether its last kernel ended.
    bool advance(Time now, Duration step) {
      if (!wants() || now < ready_at) return false;
      if (!running) stays.push_back({ended, now, now, done == Duration{}, false});
      running = true;
      done = done + step;
      stays.back().end = now + step;
      if (done < work.length) return false;
      stays.back().last = true;
      running = false;
      done = {};
      ++ended;
      ready_at = now + step + kBetween;
      if (work.pace == ProbeWork::Pace::requests) next_submission = now + step + work.pause;
      return !wants();
    }
    bool stop(Time now) {
      const bool was = running;
      if (running) stays.back().end = now;
      running = false;
      return was;
    }
  };

  TimeSlice truth_;
  bool mps_;
};

Calibration measured(const TimeSlice& truth) {
  MadeUpContexts contexts(truth);
  Calibration out;
  const std::atomic<bool> stop = false;
  measure_time_slices(contexts, out, stop);
  fit_time_slices(out);
  return out;
}

bool near(Duration found, Duration expected) { return std::abs(found.ns - expected.ns) <= 2'000; }

}  // namespace

TEST_CASE("time slices are found as they are") {
  TimeSlice other = kTruth;
  other.length = 1'500_us, other.context_switch = 60_us, other.stop = 20_us, other.resume = 0_us,
  other.renewal = 1'500_us;
  other.linger = 10_us, other.stop_full = 20_us, other.resume_full = 60_us;
  for (const TimeSlice& truth : {kTruth, other}) {
    const TimeSlice found = *measured(truth).device.time_slice;
    CHECK(near(found.length, truth.length));
    CHECK(near(found.context_switch, truth.context_switch));
    CHECK(near(found.stop, truth.stop));
    CHECK(near(found.resume, truth.resume));
    CHECK(near(found.stop_full, truth.stop_full));
    CHECK(near(found.resume_full, truth.resume_full));
    CHECK(near(found.renewal, truth.renewal));
    CHECK(near(found.linger, truth.linger));
  }
}

TEST_CASE("contexts that do not take turns have no slices") {
  MadeUpContexts contexts(kTruth, true);
  Calibration out;
  const std::atomic<bool> stop = false;
  CHECK_THROWS_WITH(measure_time_slices(contexts, out, stop),
                    Catch::Matchers::ContainsSubstring("MPS is on"));
  CHECK_FALSE(out.device.time_slice);
}

TEST_CASE("few readings are no time slice") {
  Calibration out = measured(kTruth);
  std::erase_if(out.readings, [](const Reading& r) { return r.quantity == "context turn"; });
  CHECK_THROWS_WITH(fit_time_slices(out),
                    Catch::Matchers::ContainsSubstring("too few readings of context turn: found 0"));
}

TEST_CASE("the time in which two contexts are there together") {
  const auto stay = [](std::int64_t begin, std::int64_t end) { return ProbeStay{0, Time{begin}, Time{end}}; };
  CHECK(time_together({std::vector{stay(0, 100)}, std::vector{stay(100, 200)}}) == 0);
  CHECK(time_together({std::vector{stay(0, 100)}, std::vector{stay(50, 200)}}) == 1);
  CHECK(time_together({std::vector{stay(0, 10), stay(60, 100)}, std::vector{stay(0, 20), stay(90, 120)}}) ==
        0.2);
  CHECK(time_together({std::vector{stay(0, 10)}, std::vector<ProbeStay>{}}) == 0);
}

TEST_CASE("a time slice is in the device's file, and read from it") {
  const ScratchFolder folder;
  Calibration out = measured(kTruth);
  write_descriptions(out, "made-up", "gangway calibrate", folder.path());
  write_account(out, "made-up", "gangway calibrate", folder.path());
  Node node = read_yaml((folder / "device.yaml").string());
  Mapping slice = Field(place(node, "time_slice", {}), "").mapping();
  CHECK(near(slice.need("length").duration(), kTruth.length));
  CHECK(near(slice.need("linger").duration(), kTruth.linger));
}

TEST_CASE("what kernels take of an SM is in the calibration's files, and read from them") {
  const ScratchFolder folder;
  Calibration out = measured(kTruth);
  Client& client = out.clients.emplace_back();
  client.name = "VA";
  Kernel& kernel = client.kernels.emplace_back();
  kernel.name = "VA";
  kernel.code_text = "{name: VA, params: {elements: 20000, per_thread: 8}}";
  kernel.block_tasks = {10};
  kernel.time = 1_ms;
  kernel.registers = 32;
  kernel.shared_memory = {1024};
  out.forms.push_back({"VA", {10}, 256, {{27, {1024}, 8}, {34, {1032}, 7}}});
  out.device.h2d = out.device.d2h = {Bandwidth{55'000'000'000}, 7_us};
  out.device.sm.warp = 32;
  out.device.sm.reserved_shared_memory = {1024};
  write_descriptions(out, "made-up", "gangway calibrate", folder.path());
  write_account(out, "made-up", "gangway calibrate", folder.path());
  const auto json = nlohmann::json::parse(std::ifstream(folder / "calibration.json"));
  CHECK(json["kernels"][0]["kernel"] == "VA");
  CHECK(json["kernels"][0]["block_tasks"] == 10);
  CHECK(json["kernels"][0]["original"]["registers"] == 27);
  CHECK(json["kernels"][0]["transformed"]["shared_memory"] == 1032);
  CHECK(json["kernels"][0]["transformed"]["blocks_per_sm"] == 7);
  const Node workload_file = read_yaml((folder / "workload.yaml").string());
  const Workload workload = read_clients(Field(workload_file, ""));
  REQUIRE(workload.clients.size() == 1);
  CHECK(workload.clients[0].kernels[0].registers == 32);
  CHECK(workload.clients[0].kernels[0].shared_memory == Bytes{1024});
  const Node device_file = read_yaml((folder / "device.yaml").string());
  const Device device = read_device(Field(device_file, ""));
  CHECK(device.sm.warp == 32);
  CHECK(device.sm.reserved_shared_memory == Bytes{1024});
}

TEST_CASE("a process that cannot use its device says so") {
  CHECK_THROWS_WITH(start_two_processes({"echo", "error no device here"}), "no device here");
  CHECK_THROWS_WITH(start_two_processes({"true"}), "a process that was to use the GPU has ended");
  CHECK_THROWS_WITH(start_two_processes({"/nowhere/gangway"}),
                    Catch::Matchers::ContainsSubstring("/nowhere/gangway"));
}
