// The scheduler's side of clients that submit by themselves: what it orders, and what it sees of them.
// sim/channels/README.md is the definition.
#include <fmt/format.h>

#include <algorithm>

#include "sim/channels/channel_world.hpp"

namespace gangway {
namespace {

constexpr unsigned kClientBits = 20;  // of a request's id

}  // namespace

// --- What the scheduler sees

Duration ChannelWorld::until_seen() {
  const Duration poll = setup_.device.access.poll;
  if (poll == Duration{}) return {};
  return {static_cast<std::int64_t>(polls_.uniform() * static_cast<double>(poll.ns))};
}

// What ended in one instant is seen in the order of the clients.
void ChannelWorld::look() {
  std::sort(stirred_.begin(), stirred_.end());
  for (const ClientId client : stirred_) {
    check_drained(hosts_[client.index]);
    check_sampled(hosts_[client.index]);
  }
  stirred_.clear();
}

void ChannelWorld::check_drained(Host& host) {
  if (!host.drain || host.drain->seen_soon || on_device(host)) return;
  host.drain->seen_soon = true;
  push(now_ + until_seen(), kDrainSeen, id_of(host).index);
}

void ChannelWorld::drained(Host& host) {
  if (!host.drain) return;
  tell_activity(host);
  inform(Drained{id_of(host), now_ - host.drain->since});
  host.drain.reset();
}

void ChannelWorld::tell_activity(Host& host) {
  inform(Activity{id_of(host), host.used, host.stage == Host::Stage::waiting, host.usage});
  host.used = false;
  host.usage = {};
}

void ChannelWorld::check_sampled(Host& host) {
  if (!host.sampling || host.sampling->lasted || host.sampling->admits(now_) || on_device(host)) return;
  host.sampling->lasted = now_ - host.sampling->since;
  push(now_ + until_seen(), kSampleSeen, id_of(host).index);
}

void ChannelWorld::sampled(Host& host) {
  if (!host.sampling || !host.sampling->lasted) return;
  const Sampling sampling = *host.sampling;
  host.sampling.reset();
  note({.time = now_,
        .amount = static_cast<std::int64_t>(host.access),
        .job = {id_of(host), 0},
        .mark = Mark::access});
  tell_activity(host);
  inform(Sampled{id_of(host), sampling.joined, sampling.busy, *sampling.lasted - sampling.trapped});
}

void ChannelWorld::watch_run(Host& host) {
  const auto& run = turns_.run();
  if (!limit_ || !run || run->request.job.client != id_of(host) || (!host.drain && !host.sampling)) return;
  host.overdue_since = run->begins;
  if (host.drain) host.overdue_since = std::max(host.overdue_since, host.drain->since);
  if (host.sampling) host.overdue_since = std::max(host.overdue_since, host.sampling->since);
  host.overdue_event = push(host.overdue_since + *limit_ + Duration{1}, kOverdue, id_of(host).index);
  host.overdue_launch = run->request.launch;
}

void ChannelWorld::overdue(Host& host, std::uint64_t event) {
  const auto& run = turns_.run();
  if (event != host.overdue_event || !run || run->request.launch != host.overdue_launch) return;
  if (host.drain || host.sampling) inform(Overdue{id_of(host), now_ - host.overdue_since});
}

// --- Orders

Host& ChannelWorld::host_of(ClientId client, const char* order) {
  if (client.index >= hosts_.size()) impossible(std::string(order) + " of a client that there is not");
  return hosts_[client.index];
}

void ChannelWorld::set_access(Host& host, Access access) {
  host.access = access;
  note({.time = now_,
        .amount = static_cast<std::int64_t>(access),
        .job = {id_of(host), 0},
        .mark = Mark::access});
}

bool ChannelWorld::settle_submission(Host& host) {
  host.held = {};
  if (host.sampling) {
    if (!host.sampling->admits(now_)) return false;
  } else if (host.access == Access::intercept) {
    host.held = {++requests_ << kClientBits | id_of(host).index};
    inform(Submitted{id_of(host), host.held});
    return false;
  } else if (host.access == Access::deny) {
    inform(Activity{id_of(host), false, true, {}});
    return false;
  }
  join(host);
  return true;
}

void ChannelWorld::access(ClientId client, Access access) {
  Host& host = host_of(client, "an access");
  if (access < Access::direct || access > Access::deny)
    impossible(fmt::format("access {}, which there is not", static_cast<std::int64_t>(access)));
  if (host.gone) return;
  if (host.sampling) impossible("an access of a client that is being sampled");
  if (host.access == access) return;
  set_access(host, access);
  if (host.stage == Host::Stage::waiting && settle_submission(host)) advance(host);
}

void ChannelWorld::admit(RequestId request) {
  if (request.value == 0) return;
  const std::uint64_t client = request.value & ((1u << kClientBits) - 1);
  if (client >= hosts_.size() || request.value >> kClientBits > requests_)
    impossible("an admission of a request that never was");
  Host& host = hosts_[client];
  if (host.gone || host.held != request) return;
  host.held = {};
  join(host);
  advance(host);
}

void ChannelWorld::grant(ClientId client, std::int64_t channels) {
  Host& host = host_of(client, "a grant of channels");
  if (!host.open) host.granted = std::max<std::int64_t>(0, channels);
}

void ChannelWorld::drain(ClientId client) {
  Host& host = host_of(client, "a drain");
  if (host.gone || host.drain) return;
  host.drain = Host::Drain{now_, false};
  if (!on_device(host)) return drained(host);
  watch_run(host);
}

void ChannelWorld::sample(ClientId client, Duration span, std::int64_t requests) {
  Host& host = host_of(client, "a sampling");
  if (host.gone) return;
  if (host.sampling) impossible("a sampling of a client that is being sampled");
  if (on_device(host)) impossible("a sampling of a client with something on the device");
  if (span < Duration{} || span > kEndOfClock - now_ || requests < 0)
    impossible(fmt::format("a sampling of {} ns and {} requests", span.ns, requests));
  host.access = Access::deny;
  host.sampling.emplace();
  host.sampling->since = now_;
  host.sampling->until = now_ + span;
  host.sampling->wanted = requests;
  push(now_ + span, kSpan, client.index);
  note({.time = now_, .amount = kSampled, .job = {client, 0}, .mark = Mark::access});
  if (host.stage == Host::Stage::waiting && settle_submission(host)) advance(host);
}

void ChannelWorld::watch(Duration limit) {
  if (limit < Duration{} || limit > kEndOfClock - Time{})
    impossible(fmt::format("a watch of {} ns", limit.ns));
  limit_ = limit;
}

void ChannelWorld::kill(ClientId client) {
  Host& host = host_of(client, "a kill");
  if (host.gone) return;
  leave(host, Mark::killed);
}

}  // namespace gangway
