// Native clients on a real device, as far as no device is needed: what is refused, what is issued when, and
// what becomes of the device's stamps.
#include <numeric>

#include "hw/native/trace_builder.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

struct Native {
  Native() { device.priorities = 6; }

  Client& client(const std::string& name) {
    Client& made = workload.clients.emplace_back();
    made.name = name;
    made.arrive = Duration{};
    Kernel kernel;
    kernel.name = "k";
    kernel.block_tasks = {2};
    kernel.block_task_length = 100_us;
    made.kernels.push_back(kernel);
    return made;
  }
  NativePlan plan() const {
    return NativePlan({.workload = workload, .device = device, .mechanism = *mechanism, .horizon = horizon});
  }
  NativePlan laid_out() const {
    NativePlan made = plan();
    std::vector<std::uint32_t> order(workload.clients.size());
    std::iota(order.begin(), order.end(), 0u);
    made.lay_out({}, order);
    return made;
  }
  std::string refusal() const {
    try {
      plan();
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  Workload workload;
  Device device = small_device();
  std::unique_ptr<Mechanism> mechanism = mechanism_from("flag-copy");
  Time horizon = Time::max();
};

// What a trace says, as lines.
struct Told : TraceSink {
  void record(const Record& r) override {
    lines.push_back(std::to_string(r.time.ns) + " " + std::to_string(r.job.client.index) + " " +
                    name_of(r.mark));
  }
  void blocks(const BlockSpan& span) override {
    std::string where;
    for (const auto& [sm, count] : span.where)
      where += " " + std::to_string(count) + "@" + std::to_string(sm);
    lines.push_back("blocks " + std::to_string(span.began.ns) + "+" + std::to_string(span.length.ns) + where);
  }
  bool wants_blocks() const override { return wanted; }
  void uncertain(Duration clock) override { uncertainty = clock; }
  bool wanted = true;
  std::vector<std::string> lines;
  Duration uncertainty;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a native client's job that a real device cannot run is refused by key") {
  Native native;
  Client& a = native.client("a");
  SECTION("nothing wrong") { CHECK(native.refusal().empty()); }
  SECTION("endless") {
    a.repeat = {std::nullopt, 1_ms, std::nullopt};
    CHECK(has(native.refusal(), "'workload.clients.a.repeat.jobs': found endless"));
  }
  SECTION("think time") {
    a.repeat = {2, std::nullopt, 1_ms};
    CHECK(has(native.refusal(), "'workload.clients.a.repeat.think': found 1 ms"));
  }
  SECTION("a number of registers for which there is no kernel") {
    a.kernels[0].registers = 48;
    CHECK(has(native.refusal(), "found 48, expected none or one of 32, 64, 128, 255"));
  }
  SECTION("blocks of another length") {
    a.kernels[0].exceptions.push_back({0, 1, 50_us});
    CHECK(has(native.refusal(), "kernels.k.exceptions"));
  }
  SECTION("a context of its own where there is one for all") {
    a.context = "mine";
    CHECK(has(native.refusal(), "'workload.clients.a.context': found 'mine', expected none"));
    native.device.arbitration = Arbitration::mps;
    CHECK(native.refusal().empty());
  }
  SECTION("requests in turn") {
    native.device.arbitration = Arbitration::direct;
    CHECK(has(native.refusal(), "'device.arbitration': found direct, expected native-fifo"));
  }
  SECTION("a copy too large") {
    a.copy_out = {(std::int64_t{1} << 30) + 1};
    CHECK(has(native.refusal(), "at most 1 GiB"));
  }
  SECTION("two priorities in one stream") {
    a.stream = "s";
    Client& b = native.client("b");
    b.stream = "s";
    b.priority = 3;
    CHECK(has(native.refusal(), "'workload.clients.b.priority': found 3, expected one priority"));
  }
  SECTION("a priority in the NULL stream") {
    a.stream = kNullStream;
    a.priority = 1;
    CHECK(has(native.refusal(), "expected 0 in the stream 'default'"));
  }
}

TEST_CASE("streams are numbered by the clients that name them first, priorities cut as the device's") {
  Native native;
  native.client("a").priority = 9;
  native.client("b").stream = "s";
  native.client("c").stream = kNullStream;
  native.client("d").stream = "s";
  const NativePlan plan = native.laid_out();
  REQUIRE(plan.on_device().streams.size() == 3);
  CHECK(plan.on_device().streams[0].priority == 5);
  CHECK(plan.on_device().streams[2].null);
  CHECK(plan.run().operations[3].stream == 1);
}

TEST_CASE("one queue for all has no priorities") {
  Native native;
  native.client("a").priority = 3;
  native.client("b").priority = 1;
  native.device.arbitration = Arbitration::fifo;
  const NativePlan plan = native.plan();
  CHECK(plan.on_device().streams[0].priority == 0);
  CHECK(plan.on_device().streams[1].priority == 0);
  CHECK(plan.processes().empty());
}

TEST_CASE("there are as many processes as contexts that take turns") {
  Native native;
  native.client("a");
  native.client("b").stream = "s";
  native.client("c").context = "x";
  native.client("d").stream = "s";
  native.client("e").context = "x";
  for (const Arbitration arbitration : {Arbitration::timeslice, Arbitration::mps}) {
    native.device.arbitration = arbitration;
    CHECK(native.plan().processes() == std::vector<std::vector<std::uint32_t>>{{0}, {1, 3}, {2, 4}});
  }
}

TEST_CASE("a kernel with code is told by its first block and the event behind it") {
  Native native;
  Client& a = native.client("a");
  a.kernels.push_back(a.kernels[0]);
  struct Code : KernelCode {
    Dimensions grid() const override { return {5, 1, 1}; }
    Dimensions block() const override { return {32, 1, 1}; }
    Bytes memory() const override { return {}; }
    std::unique_ptr<HostProblem> on_host(std::uint64_t) const override { return nullptr; }
    std::unique_ptr<CudaProblem> on_cuda(std::uint64_t) const override { return nullptr; }
  };
  a.kernels[1].code = std::make_shared<Code>();
  a.kernels[1].block_tasks = {5};
  a.kernels[1].registers = 48;  // its code has those that it has
  const NativePlan plan = native.laid_out();
  CHECK(plan.run().stamps == 2);
  REQUIRE(plan.run().events == 1);
  REQUIRE(plan.run().starts == 1);
  NativeMeasurement measured;
  measured.issued = {Time{1}, Time{2}};
  measured.operations = 2;
  measured.releases = 1;
  measured.blocks = {{Time{10}, Time{110}, 0}, {Time{10}, Time{110}, 0}};
  measured.began = {Time{112}};
  measured.ended = {Time{500}};
  Told told;
  build_trace(plan, measured, Time::max(), told);
  CHECK(told.lines == std::vector<std::string>{"0 0 released", "1 0 issued", "2 0 issued", "10 0 started",
                                               "blocks 10+100 2@0", "110 0 gone", "112 0 started",
                                               "500 0 gone", "500 0 finished", "500 0 ended"});
}

TEST_CASE("all operations of a job are issued at its release, in the order of time, then of clients") {
  Native native;
  Client& a = native.client("a");
  a.copy_in = a.copy_out = {100};
  a.repeat.releases = {0_us, 20_us};
  a.repeat.jobs = 2;
  native.client("b");
  native.horizon = Time{15'000};
  const NativePlan plan = native.laid_out();  // a's second release is beyond the horizon
  REQUIRE(plan.run().releases.size() == 2);
  const auto program = plan.run().operations_of(plan.run().releases[0]);
  REQUIRE(program.size() == 3);
  CHECK(program[0].copy);
  CHECK(program[1].launch == LaunchId{1});
  CHECK((program[2].copy && program[2].direction == CopyDirection::to_host && program[2].event == 1));
  CHECK(plan.run().releases[1].job == JobId{ClientId{1}, 0});
  CHECK(plan.run().operations[3].first_stamp == 2);
  CHECK(plan.run().stamps == 4);
  CHECK(plan.run().events == 2);
}

TEST_CASE("stamps become marks, and blocks that began and ended together one span") {
  Native native;
  Client& a = native.client("a");
  a.copy_in = {100};
  Client& b = native.client("b");
  b.copy_in = {100};
  const NativePlan plan = native.laid_out();
  NativeMeasurement measured;
  measured.issued = {Time{1}, Time{2}, Time{3}, Time{4}};
  measured.operations = 4;
  measured.releases = 2;
  measured.ended = {Time{20}, Time{40}};
  measured.uncertainty = 7_ns;
  measured.blocks = {
      {Time{25}, Time{125}, 3}, {Time{25}, Time{125}, 3}, {Time{45}, Time{145}, 0}, {Time{46}, Time{146}, 1}};
  Told told;
  build_trace(plan, measured, Time::max(), told);
  CHECK(told.uncertainty == 7_ns);
  // b's copy began, as far as anyone can tell, when a's had ended.
  CHECK(told.lines ==
        std::vector<std::string>{"0 0 released",      "0 1 released", "1 0 issued",     "1 0 copy begins",
                                 "2 0 issued",        "3 1 issued",   "4 1 issued",     "20 0 copy ends",
                                 "20 1 copy begins",  "25 0 started", "40 1 copy ends", "45 1 started",
                                 "blocks 25+100 2@3", "125 0 gone",   "125 0 finished", "blocks 45+100 1@0",
                                 "blocks 46+100 1@1", "146 1 gone",   "146 1 finished", "146 0 ended"});
}

TEST_CASE("a kernel of which no block has room is paused until one has") {
  Native native;
  native.client("a");
  const auto told = [&] {
    const NativePlan plan = native.laid_out();
    NativeMeasurement measured;
    measured.issued = {Time{1}};
    measured.operations = measured.releases = 1;
    measured.blocks = {{Time{145}, Time{245}, 3}, {Time{25}, Time{125}, 3}};  // in any order
    Told lines;
    lines.wanted = false;
    build_trace(plan, measured, Time::max(), lines);
    return std::vector<std::string>(lines.lines.begin() + 2, lines.lines.end());
  };
  const std::vector<std::string> end{"245 0 gone", "245 0 finished", "245 0 ended"};
  std::vector<std::string> expected{"25 0 started"};
  SECTION("from the end of its blocks") {
    expected.insert(expected.end(), {"125 0 paused", "145 0 resumed"});
  }
  SECTION("or rather, from when their room is free") {
    native.device.delays.block_end = 5_ns;
    expected.insert(expected.end(), {"130 0 paused", "145 0 resumed"});
  }
  SECTION("and not at all where that takes until the next blocks") { native.device.delays.block_end = 20_ns; }
  expected.insert(expected.end(), end.begin(), end.end());
  CHECK(told() == expected);
}

TEST_CASE("what was measured after the horizon is not told, nor what was not issued") {
  Native native;
  native.client("a");
  native.client("b");
  native.horizon = Time{120};
  const NativePlan plan = native.laid_out();
  NativeMeasurement measured;
  measured.issued = {Time{1}, Time{}};
  measured.operations = measured.releases = 1;
  measured.blocks = {{Time{25}, Time{110}, 3}, {Time{26}, Time{130}, 3}, {}, {}};
  Told told;
  build_trace(plan, measured, native.horizon, told);
  CHECK(told.lines == std::vector<std::string>{"0 0 released", "1 0 issued", "25 0 started",
                                               "blocks 25+85 1@3", "120 0 ended"});
}

}  // namespace gangway::testing
