#include "models/policy/access.hpp"

#include <algorithm>

#include "models/device.hpp"

namespace gangway {

using namespace literals;

AccessPolicy::AccessPolicy(const ParameterValues& values)
    : most_channels_(values.integer("channels")), limit_(values.duration("limit")) {}

std::vector<Parameter> AccessPolicy::with_protection(std::vector<Parameter> own) {
  own.push_back(
      {"channels",
       "channels a client may have; with it, only so many clients are let in as can all have them; 0: "
       "whoever comes first",
       Parameter::Integer{0, 0, 1'000'000}});
  own.push_back({"limit", "a client whose request runs longer than this while it is waited for is killed",
                 Parameter::Time{1_s, 1_us, 86'400_s}});
  return own;
}

Parameter AccessPolicy::alone() {
  return {"alone",
          "the only client is never held back (free), or as if there were others (watched, as in the paper)",
          Parameter::Choice{{"free", "watched"}}};
}

std::optional<Refusal> AccessPolicy::refusal(const Kernel& kernel, const Device& device) const {
  if (kernel.time > limit_ && !kernel.never_ends)
    return Refusal{"a request of " + to_text(kernel.time),
                   "at most the " + to_text(limit_) + " of the policy's `limit`"};
  if (most_channels_ > 0 && device.access.channels && most_channels_ > *device.access.channels)
    return Refusal{std::to_string(most_channels_) + " channels for each client",
                   "at most the " + std::to_string(*device.access.channels) + " of " + device.name};
  return std::nullopt;
}

bool AccessPolicy::is_present(ClientId client) const {
  return std::binary_search(present_.begin(), present_.end(), client);
}

void AccessPolicy::note(Time now, const Fact& fact, const View&) {
  if (const auto* opens = std::get_if<Opens>(&fact)) {
    opening_.push_back(*opens);
  } else if (const auto* overdue = std::get_if<Overdue>(&fact)) {
    too_long_.push_back(overdue->client);
  } else if (const auto* exited = std::get_if<Exited>(&fact)) {
    const auto same = [&](const Opens& other) { return other.client == exited->client; };
    if (std::erase_if(opening_, same) > 0) return;  // it is gone before it was let in
    std::erase(present_, exited->client);
    heard(now, fact);
  } else {
    heard(now, fact);
  }
}

void AccessPolicy::decide(Time now, const View& view, Orders& orders) {
  if (!began_) {
    began_ = true;
    orders.watch(limit_);
    return begun(now, orders);
  }
  for (const ClientId client : too_long_) orders.kill(client);
  too_long_.clear();
  for (const Opens& opens : opening_) {
    protect(opens, view, orders);
    heard(now, opens);
  }
  opening_.clear();
  act(now, view, orders);
}

// NEON, 6.3: at most C channels for a client, and D / C clients.
void AccessPolicy::protect(const Opens& opens, const View& view, Orders& orders) {
  const bool full = most_channels_ > 0 && view.channels() &&
                    static_cast<std::int64_t>(present_.size()) >= *view.channels() / most_channels_;
  if (most_channels_ > 0) orders.grant(opens.client, full ? 0 : most_channels_);
  present_.insert(std::lower_bound(present_.begin(), present_.end(), opens.client), opens.client);
}

}  // namespace gangway
