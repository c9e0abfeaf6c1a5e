// Stands between a world and its policy. Whatever the policy does, the world receives only RunErrors with the
// history (contract: models/policy.hpp).
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "models/policy.hpp"
#include "models/run/policy_watch.hpp"

namespace gangway {

class PolicyGuard : private Orders {
 public:
  // More orders in one decision count as an endless loop; the limit grows with clients.
  static constexpr std::uint64_t kMostOrders = 1'000'000;

  // `world` carries out the orders; `story` describes the run's history after what the policy did.
  PolicyGuard(Orders& world, WatchedRun::Story story) : world_(world), story_(std::move(story)) {}

  // A run of `clients` begins. The policy must outlive it; `watch` may be null.
  void begin(Policy& policy, WatchedRun* watch, std::size_t clients);

  void seed(const Stream& random);
  // Tells all facts of an instant, then asks for one decision.
  void tell_and_decide(Time now, std::span<const Fact> facts, const View& view);

 private:
  template <typename Work>
  void guarded(Work work);
  template <typename Order>
  auto carry_out(Order order);
  [[noreturn]] void fail(const std::string& what) const;

  LaunchId launch(JobId job, DeviceId device, std::optional<BlockRange> range) override;
  void evict(LaunchId launch) override;
  void kill(ClientId client) override;
  void restore(JobId job, DeviceId device, BlockRange blocks) override;
  void save(JobId job, DeviceId device) override;
  void access(ClientId client, Access access) override;
  void admit(RequestId request) override;
  void grant(ClientId client, std::int64_t channels) override;
  void drain(ClientId client) override;
  void sample(ClientId client, Duration span, std::int64_t requests) override;
  void watch(Duration limit) override;
  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;

  Orders& world_;
  const WatchedRun::Story story_;
  Policy* policy_ = nullptr;
  WatchedRun* watch_ = nullptr;
  std::uint64_t orders_ = 0, most_orders_ = kMostOrders;
  std::exception_ptr from_world_;  // from an order: it ends the run even if the policy swallows it
};

}  // namespace gangway
