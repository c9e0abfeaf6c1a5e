#include "tests/faults/faults.hpp"

#include <stdexcept>

#include "models/error.hpp"

namespace gangway::testing {
namespace {

constexpr JobId kFirst{ClientId{0}, 0};
constexpr JobId kNobody{ClientId{7}, 0};
constexpr ClientId kNoClient{7};
constexpr DeviceId kNoGpu{9};
constexpr BlockRange kSome{BlockCount{0}, BlockCount{10}};

struct OfNoStandard {};

using Act = std::function<void(Time, const View&, Orders&)>;

Fault order(std::string name, Capabilities needs, std::function<void(Orders&)> act, std::string complaint) {
  return {std::move(name), needs, [act = std::move(act)](Time, const View&, Orders& o) { act(o); },
          std::move(complaint), ""};
}
Fault question(std::string name, Capabilities needs, std::function<void(const View&)> act,
               std::string complaint) {
  return {std::move(name), needs, [act = std::move(act)](Time, const View& v, Orders&) { act(v); },
          "the policy threw std::out_of_range: " + std::move(complaint), ""};
}
template <typename Thrown>
Fault thrown(std::string name, Thrown what, std::string complaint) {
  return {std::move(name),
          {},
          [what](Time, const View&, Orders&) { throw what; },
          "the policy threw " + std::move(complaint),
          ""};
}

std::vector<Fault> of_any_world() {
  return {
      order(
          "launch-client", {}, [](Orders& o) { o.launch(kNobody, DeviceId{0}, kSome); }, "not eligible"),
      order(
          "launch-device", {}, [](Orders& o) { o.launch(kFirst, kNoGpu, kSome); },
          "a launch on device 9, of 1"),
      order(
          "launch-range", {}, [](Orders& o) { o.launch(kFirst, DeviceId{0}, kAllBlocks); },
          "a launch of block-tasks"),
      order(
          "evict-launch", {}, [](Orders& o) { o.evict(LaunchId{99}); }, "an eviction of an unknown launch"),
      order(
          "cancel-timer", {}, [](Orders& o) { o.cancel(TimerId{~0ULL}); }, "the end of an unknown timer"),
      order(
          "kill-without-power", {}, [](Orders& o) { o.kill(kNoClient); },
          "a kill, which this world cannot do"),
      order(
          "swallowed", {},
          [](Orders& o) {
            try {
              o.evict(LaunchId{99});
            } catch (...) {
            }
          },
          "an eviction of an unknown launch"),
      order(
          "orders-without-end", {},
          [](Orders& o) {
            for (;;) o.evict(LaunchId{});
          },
          "orders in one decision"),
      {"timers-without-end",
       {},
       [](Time now, const View&, Orders& o) {
         for (;;) o.wake_at(now + Duration{1'000'000'000});
       },
       "more than 1000000 timers at once",
       ""},
      {"instant-without-end",
       {},
       [](Time now, const View&, Orders& o) { o.wake_at(now); },
       "the same instant endlessly",
       "nothing but set timers"},
      {"wakes-itself",
       {},
       [](Time now, const View&, Orders& o) { o.wake_at(now + Duration{1}); },
       "timers 1000000 times in a row while 2 jobs wait",
       "nothing but set timers"},
      question(
          "job-of-nobody", {}, [](const View& v) { (void)v.job(kNobody); }, "client 7, of 2"),
      question(
          "kernel-of-nobody", {}, [](const View& v) { (void)v.job(kFirst).kernels[99]; }, "kernel 99, of 1"),
      question(
          "kernel-of-no-job", {},
          [](const View& v) {
            (void)v.job({ClientId{1}, 0}).current();
          },
          "kernel 1, of 1"),
      thrown("exception", std::runtime_error("out of luck"), "std::runtime_error: out of luck"),
      thrown("own-run-error", RunError("mine"), "gangway::RunError: mine"),
      thrown("own-input-error", InputError("mine"), "gangway::InputError: mine"),
      thrown("bad-alloc", std::bad_alloc(), "std::bad_alloc: "),
      thrown("number", 42, "int, which is no std::exception"),
      thrown("of-no-standard", OfNoStandard{}, "gangway::testing::(anonymous namespace)::OfNoStandard"),
  };
}

std::vector<Fault> of_access() {
  const Capabilities access{Capability::access, Capability::intercept, Capability::sampling};
  return {
      order(
          "access-client", access, [](Orders& o) { o.access(kNoClient, Access::deny); },
          "an access of a client"),
      order(
          "access-kind", access, [](Orders& o) { o.access(ClientId{0}, static_cast<Access>(77)); },
          "access 77"),
      order(
          "admit-request", access, [](Orders& o) { o.admit(RequestId{~0ULL}); }, "an unknown request"),
      order(
          "admit-early", access, [](Orders& o) { o.admit(RequestId{99 << 20}); }, "an unknown request"),
      order(
          "grant-client", access, [](Orders& o) { o.grant(kNoClient, 1); },
          "a grant of channels of a client"),
      order(
          "drain-client", access, [](Orders& o) { o.drain(kNoClient); }, "a drain of a client"),
      order(
          "kill-client", access, [](Orders& o) { o.kill(kNoClient); }, "a kill of a client"),
      order(
          "sample-client", access, [](Orders& o) { o.sample(kNoClient, Duration{5}, 1); },
          "a sampling of a client"),
      order(
          "sample-span", access, [](Orders& o) { o.sample(ClientId{1}, Duration{-5}, 1); },
          "a sampling of -5 ns"),
      order(
          "sample-for-ever", access, [](Orders& o) { o.sample(ClientId{1}, Duration::max(), 1); },
          "a sampling of "),
      order(
          "sample-requests", access, [](Orders& o) { o.sample(ClientId{1}, Duration{5}, -1); },
          "-1 requests"),
      order(
          "watch-limit", access, [](Orders& o) { o.watch(Duration{-1}); }, "a watch of -1 ns"),
      order(
          "drain-without-end", access, [](Orders& o) { o.drain(ClientId{1}); }, "the same instant endlessly"),
  };
}

std::vector<Fault> of_memory() {
  const Capabilities memory{Capability::memory, Capability::ranges};
  const DeviceId gpu{0};
  const auto ask = [&](std::string name, std::function<void(const MemoryView&)> act, std::string complaint) {
    return question(
        std::move(name), memory, [act = std::move(act)](const View& v) { act(v.memory()); },
        std::move(complaint));
  };
  return {
      order(
          "restore-client", memory, [=](Orders& o) { o.restore(kNobody, gpu, kAllBlocks); }, "unknown job"),
      order(
          "restore-gpu", memory, [](Orders& o) { o.restore(kFirst, kNoGpu, kAllBlocks); }, "on device 9"),
      order(
          "save-client", memory, [=](Orders& o) { o.save(kNobody, gpu); }, "unknown job"),
      order(
          "save-gpu", memory, [](Orders& o) { o.save(kFirst, kNoGpu); }, "on device 9"),
      ask(
          "residence-client", [=](const MemoryView& m) { (void)m.residence(kNoClient, gpu); },
          "client 7, of 2"),
      ask(
          "residence-gpu", [](const MemoryView& m) { (void)m.residence(ClientId{0}, kNoGpu); },
          "GPU 9, of 1"),
      ask(
          "room", [](const MemoryView& m) { (void)m.room(kNoGpu); }, "GPU 9, of 1"),
      ask(
          "held", [=](const MemoryView& m) { (void)m.held(kNoClient, gpu); }, "client 7, of 2"),
      ask(
          "holds", [=](const MemoryView& m) { (void)m.holds(kNobody, gpu, kSome); }, "client 7, of 2"),
      ask(
          "takes", [](const MemoryView& m) { (void)m.takes(kFirst, kNoGpu, kSome); }, "GPU 9, of 1"),
      ask(
          "copies", [=](const MemoryView& m) { (void)m.copies(kNobody, gpu, kSome); }, "client 7, of 2"),
      ask(
          "changed-elsewhere", [=](const MemoryView& m) { (void)m.changed_elsewhere(kNobody, gpu, kSome); },
          "client 7, of 2"),
      ask(
          "changed-on", [](const MemoryView& m) { (void)m.changed_on(kFirst, kNoGpu, kSome); },
          "GPU 9, of 1"),
      ask(
          "merged", [](const MemoryView& m) { (void)m.merged(kNoClient); }, "client 7, of 2"),
      ask(
          "copy-time", [](const MemoryView& m) { (void)m.copy_time(Bytes{-1}); }, "a copy of -1 bytes"),
      {"moves-without-end", memory,
       [=](Time, const View& v, Orders& o) {
         const Residence there = v.memory().residence(ClientId{0}, gpu);
         if (there == Residence::absent) o.restore(kFirst, gpu, kAllBlocks);
         if (there == Residence::resident) o.save(kFirst, gpu);
       },
       "while the policy saved and restored 100000 times", ""},
  };
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> out = of_any_world();
    for (auto& more : {of_access(), of_memory()}) out.insert(out.end(), more.begin(), more.end());
    return out;
  }();
  return all;
}

}  // namespace gangway::testing
