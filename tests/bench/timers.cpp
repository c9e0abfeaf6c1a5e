// How late the real-time executor tells a policy that its timer is due. Prints one JSON line, in nanoseconds.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"
#include "models/mechanism.hpp"
#include "tests/no_trace.hpp"

namespace {

using namespace gangway;
using gangway::testing::NoTrace;

constexpr Duration kGap{100'000};
constexpr std::size_t kTimers = 5'000;

class Waker : public Policy {
 public:
  Waker() { late.reserve(kTimers); }
  Capabilities needs() const override { return {}; }
  void note(Time now, const Fact& fact, const View&) override {
    if (std::holds_alternative<Timer>(fact)) late.push_back((now - due_).ns);
  }
  void decide(Time now, const View&, Orders& orders) override {
    if (late.size() == kTimers) return;
    due_ = now + kGap;
    orders.wake_at(due_);
  }
  std::vector<std::int64_t> late;

 private:
  Time due_;
};

}  // namespace

int main() {
  Workload workload;
  workload.clients.emplace_back();
  workload.clients[0].arrive =
      Duration{kGap.ns * static_cast<std::int64_t>(2 * kTimers)};  // keeps the run going
  workload.clients[0].kernels.emplace_back().block_tasks = {1};
  workload.clients[0].kernels[0].time = kGap;
  Device device;
  const MechanismEntry& flag_copy = Mechanisms::named("flag-copy", "bench", "mechanism");
  const auto mechanism = flag_copy.make(ParameterValues(flag_copy.parameters, std::nullopt));
  RealTimeWorld world({.workload = workload, .device = device, .mechanism = *mechanism},
                      std::make_unique<HostDevice>(workload, 1));
  Waker policy;
  NoTrace sink;
  const std::uint32_t order[] = {0};
  world.run(policy, {}, order, sink);
  std::sort(policy.late.begin(), policy.late.end());
  fmt::print("{{\"p50\": {}, \"p99\": {}, \"largest\": {}}}\n", policy.late[kTimers / 2],
             policy.late[kTimers * 99 / 100], policy.late.back());
}
