#include "models/run/policy_guard.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

namespace gangway {
namespace {

// "std::out_of_range", of the exception that is being handled.
std::string type_of_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "something";
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed), std::free);
  return failed == 0 ? name.get() : type->name();
}

// The policy is at work as long as this lives.
class Call {
 public:
  explicit Call(WatchedRun* watch) : watch_(watch) {
    if (watch_ != nullptr) watch_->begin_call();
  }
  ~Call() {
    if (watch_ != nullptr) watch_->end_call();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  WatchedRun* watch_;
};

// An order is carried out as long as this lives.
class OrderUnderWay {
 public:
  explicit OrderUnderWay(WatchedRun* watch) : watch_(watch) {
    if (watch_ != nullptr) watch_->begin_order();
  }
  ~OrderUnderWay() {
    if (watch_ != nullptr) watch_->end_order();
  }
  OrderUnderWay(const OrderUnderWay&) = delete;
  OrderUnderWay& operator=(const OrderUnderWay&) = delete;

 private:
  WatchedRun* watch_;
};

}  // namespace

void PolicyGuard::begin(Policy& policy, WatchedRun* watch, std::size_t clients) {
  policy_ = &policy;
  watch_ = watch;
  most_orders_ = kMostOrders + 16 * clients;
  if (watch_ != nullptr) watch_->tell_by(story_);
}

void PolicyGuard::fail(const std::string& what) const { throw RunError(story_(what)); }

template <typename Work>
void PolicyGuard::guarded(Work work) {
  std::string fault;
  orders_ = 0;
  from_world_ = nullptr;
  {
    const Call under_way(watch_);
    try {
      work();
    } catch (const NotReturned& error) {
      fault = error.what();
    } catch (const ForeignError& error) {
      fault = std::string("the policy failed: ") + error.what();
    } catch (const std::exception& error) {
      fault = "the policy threw " + type_of_exception() + ": " + error.what();
    } catch (...) {
      fault = "the policy threw " + type_of_exception() + ", which is no std::exception";
    }
  }
  if (from_world_) std::rethrow_exception(from_world_);
  if (!fault.empty()) fail(fault);
}

template <typename Order>
auto PolicyGuard::carry_out(Order order) {
  const OrderUnderWay under_way(watch_);
  if (from_world_) std::rethrow_exception(from_world_);  // the policy caught it, and goes on
  try {
    if (++orders_ > most_orders_)
      fail(fmt::format("the policy gave {} orders in one decision", most_orders_));
    return order();
  } catch (...) {
    from_world_ = std::current_exception();
    throw;
  }
}

void PolicyGuard::seed(const Stream& random) {
  guarded([&] { policy_->seed(random); });
}

void PolicyGuard::tell_and_decide(Time now, std::span<const Fact> facts, const View& view) {
  guarded([&] {
    for (const Fact& fact : facts) policy_->note(now, fact, view);
    policy_->decide(now, view, *this);
  });
}

LaunchId PolicyGuard::launch(JobId job, DeviceId device, std::optional<BlockRange> range) {
  return carry_out([&] { return world_.launch(job, device, range); });
}
void PolicyGuard::evict(LaunchId launch) {
  carry_out([&] { world_.evict(launch); });
}
void PolicyGuard::kill(ClientId client) {
  carry_out([&] { world_.kill(client); });
}
void PolicyGuard::restore(JobId job, DeviceId device, BlockRange blocks) {
  carry_out([&] { world_.restore(job, device, blocks); });
}
void PolicyGuard::save(JobId job, DeviceId device) {
  carry_out([&] { world_.save(job, device); });
}
void PolicyGuard::access(ClientId client, Access access) {
  carry_out([&] { world_.access(client, access); });
}
void PolicyGuard::admit(RequestId request) {
  carry_out([&] { world_.admit(request); });
}
void PolicyGuard::grant(ClientId client, std::int64_t channels) {
  carry_out([&] { world_.grant(client, channels); });
}
void PolicyGuard::drain(ClientId client) {
  carry_out([&] { world_.drain(client); });
}
void PolicyGuard::sample(ClientId client, Duration span, std::int64_t requests) {
  carry_out([&] { world_.sample(client, span, requests); });
}
void PolicyGuard::watch(Duration limit) {
  carry_out([&] { world_.watch(limit); });
}
TimerId PolicyGuard::wake_at(Time time) {
  return carry_out([&] { return world_.wake_at(time); });
}
void PolicyGuard::cancel(TimerId timer) {
  carry_out([&] { world_.cancel(timer); });
}

}  // namespace gangway
