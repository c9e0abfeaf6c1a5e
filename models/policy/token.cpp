#include "models/policy/token.hpp"

#include <utility>

namespace gangway {

using namespace literals;

TokenPolicy::TokenPolicy(const ParameterValues& values, bool engaged)
    : AccessPolicy(values),
      slice_(values.duration("slice")),
      free_alone_(AccessPolicy::free_alone(values)),
      holders_(engaged ? Access::intercept : Access::direct) {}

std::vector<Parameter> TokenPolicy::parameters() {
  return with_protection(
      {{"slice", "how long a client may submit before the next one", Parameter::Time{30_ms, 1_us, 60_s}},
       alone()});
}

void TokenPolicy::heard(Time now, const Fact& fact) {
  if (const auto* opens = std::get_if<Opens>(&fact)) {
    newcomers_.push_back(opens->client);
    opened(*opens);
  }
  if (const auto* submitted = std::get_if<Submitted>(&fact)) submitted_.push_back(submitted->request);
  if (const auto* timer = std::get_if<Timer>(&fact); timer != nullptr && timer_ == timer->timer) {
    timer_.reset();
    over_ = true;
  }
  if (const auto* drained = std::get_if<Drained>(&fact); drained != nullptr && holder_ == drained->client) {
    gave_back(*holder_, now - since_, drained->overrun);
    holder_.reset();
  }
  if (const auto* gone = std::get_if<Exited>(&fact)) {
    exited(gone->client);
    if (holder_ == gone->client) holder_.reset();
  }
}

void TokenPolicy::act(Time now, const View&, Orders& orders) {
  for (const ClientId client : newcomers_) orders.access(client, Access::deny);
  newcomers_.clear();
  if (over_ && holder_ && free_alone_ && one_is_present()) {
    over_ = false;
    begin_slice(now, orders);
  }
  if (holder_ && !draining_ && !over_)
    for (const RequestId request : submitted_) orders.admit(request);
  submitted_.clear();
  if (std::exchange(over_, false) && holder_) {
    orders.access(*holder_, Access::deny);
    orders.drain(*holder_);
    draining_ = true;
  }
  if (!holder_) pass(now, orders);
}

void TokenPolicy::pass(Time now, Orders& orders) {
  draining_ = false;
  if (timer_) orders.cancel(*std::exchange(timer_, std::nullopt));
  if (present().empty()) return;
  holder_ = next();
  orders.access(*holder_, holders_);
  begin_slice(now, orders);
}

void TokenPolicy::begin_slice(Time now, Orders& orders) {
  since_ = now;
  timer_ = orders.wake_at(now + slice_);
}

}  // namespace gangway
