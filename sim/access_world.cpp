#include "sim/access_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangway {
namespace {

constexpr unsigned kClientBits = 20;  // of a request's id

}  // namespace

AccessWorld::AccessWorld(const WorldSetup& setup, const std::vector<std::uint32_t>& host_threads)
    : EventWorld(setup) {
  for (std::uint32_t c = 0; c < host_threads.size(); ++c) {
    Control control;
    control.id = ClientId{c};
    control.first_thread = static_cast<std::uint32_t>(submissions_.size());
    Submission submission;
    submission.client = c;
    submissions_.resize(submissions_.size() + host_threads[c], submission);
    control.end_thread = static_cast<std::uint32_t>(submissions_.size());
    controls_.push_back(control);
  }
}

void AccessWorld::reset_access(const Policy& policy, const RunSeed& seed) {
  controlled_ = policy.needs().has(Capability::access);
  for (Control& control : controls_) {
    Control fresh;
    fresh.id = control.id;
    fresh.first_thread = control.first_thread;
    fresh.end_thread = control.end_thread;
    control = fresh;
  }
  for (Submission& submission : submissions_) {
    Submission fresh;
    fresh.client = submission.client;
    submission = fresh;
  }
  opening_.clear();
  stirred_.clear();
  open_channels_ = 0;
  limit_.reset();
  requests_ = 0;
  polls_ = {seed.seed, "poll", {seed.replication, seed.permutation}};
}

void AccessWorld::access_due(const EventQueue::Event& event) {
  Control& control = controls_[index_of(event)];
  if (control.gone) return;
  switch (kind_of(event)) {
    case kDrainSeen:
      return drained(control);
    case kSampleSeen:
      return sampled(control);
    case kOverdue:
      if (event.sequence != control.overdue_event) return;
      control.overdue = true;
      return stir(control.id);
    case kSpan:
      return stir(control.id);
    case kNextSampled:
      return settle_waiting(control);
  }
}

// --- Clients come and go

void AccessWorld::asks_to_open(ClientId client, std::int64_t channels) {
  Control& control = controls_[client.index];
  if (std::exchange(control.opening, true)) return;
  control.channels = channels;
  opening_.push_back(client);
  inform(Opens{client, channels, setup_.workload.clients[client.index].weight});
}

// A client opens after the decision of the instant in which it asked.
void AccessWorld::open_clients() {
  if (opening_.empty()) return;
  std::sort(opening_.begin(), opening_.end());
  for (const ClientId id : std::exchange(opening_, {})) {
    Control& control = controls_[id.index];
    std::int64_t channels = std::exchange(control.channels, 0);
    if (control.gone) continue;
    if (control.granted) channels = std::min(channels, *control.granted);
    if (setup_.device.access.channels)
      channels = std::min(channels, *setup_.device.access.channels - open_channels_);
    if (channels < channels_needed(id)) {
      leave(id, Mark::refused);
      continue;
    }
    control.open = true;
    control.channels = channels;
    open_channels_ += channels;
    opened(id);
  }
}

void AccessWorld::leave(ClientId client, Mark how) {
  vanish(client, how);
  close(client);
}

void AccessWorld::close(ClientId client) {
  Control& control = controls_[client.index];
  control.gone = true;
  if (control.open) open_channels_ -= control.channels;
  control.drain.reset();
  control.sampling.reset();
  inform(Exited{client});
}

// --- Submissions

bool AccessWorld::traps(std::uint32_t thread, std::int64_t requests) {
  Submission& submission = submissions_[thread];
  Control& control = controls_[submission.client];
  submission.trapped = control.access != Access::direct || control.sampling;
  submission.requests = requests;
  submission.trap_began = now_;
  if (!submission.trapped) control.used = true;
  return submission.trapped;
}

void AccessWorld::trap_over(std::uint32_t thread) {
  Submission& submission = submissions_[thread];
  if (auto& sampling = controls_[submission.client].sampling; sampling && !sampling->lasted) {
    sampling->trapped += now_ - std::max(submission.trap_began, sampling->counted);
    sampling->counted = now_;
  }
  submission.waits = true;
  submission.waits_since = now_;
  settle(thread);
}

// A submission that has trapped, or waits: as the access says now.
void AccessWorld::settle(std::uint32_t thread) {
  Submission& submission = submissions_[thread];
  const Control& control = controls_[submission.client];
  submission.held = {};
  if (control.sampling) {
    if (!control.sampling->admits(now_)) return;
    if (sampled_one_by_one() && on_device(control.id)) return;
  } else if (control.access == Access::intercept) {
    submission.held = {++requests_ << kClientBits | submission.client};
    return inform(Submitted{control.id, submission.held});
  } else if (control.access == Access::deny) {
    return inform(Activity{control.id, false, true, {}});
  }
  let_pass(thread);
}

// Who has waited longest goes first.
void AccessWorld::settle_waiting(const Control& control) {
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t thread = control.first_thread; thread < control.end_thread; ++thread)
    if (submissions_[thread].waits) waiting.push_back(thread);
  std::stable_sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
    return submissions_[a].waits_since < submissions_[b].waits_since;
  });
  for (const std::uint32_t thread : waiting) settle(thread);
}

void AccessWorld::let_pass(std::uint32_t thread) {
  Submission& submission = submissions_[thread];
  Control& control = controls_[submission.client];
  submission.held = {};
  submission.waits = false;
  control.used = true;
  if (control.sampling) control.sampling->joined += submission.requests;
  pass(thread);
}

bool AccessWorld::waits(const Control& control) const {
  for (std::uint32_t thread = control.first_thread; thread < control.end_thread; ++thread)
    if (submissions_[thread].waits) return true;
  return false;
}

// --- What the scheduler sees

Duration AccessWorld::until_seen() {
  const Duration poll = setup_.device.access.poll;
  if (poll == Duration{}) return {};
  return {static_cast<std::int64_t>(polls_.uniform() * static_cast<double>(poll.ns))};
}

void AccessWorld::used(ClientId client, Duration time) {
  Control& control = controls_[client.index];
  control.usage += time;
  if (control.sampling) control.sampling->busy += time;
}

// What ended in one instant is seen in the order of the clients.
void AccessWorld::look() {
  std::sort(stirred_.begin(), stirred_.end());
  for (const ClientId client : stirred_) {
    check_drained(controls_[client.index]);
    check_sampled(controls_[client.index]);
    check_overdue(controls_[client.index]);
  }
  stirred_.clear();
}

void AccessWorld::check_drained(Control& control) {
  if (!control.drain || control.drain->seen_soon || on_device(control.id)) return;
  control.drain->seen_soon = true;
  push(now_ + until_seen(), kDrainSeen, control.id.index);
}

void AccessWorld::drained(Control& control) {
  if (!control.drain) return;
  tell_activity(control);
  inform(Drained{control.id, now_ - control.drain->since});
  control.drain.reset();
}

void AccessWorld::tell_activity(Control& control) {
  bring_use_up_to_date();
  inform(Activity{control.id, control.used, waits(control), control.usage});
  control.used = false;
  control.usage = {};
}

void AccessWorld::check_sampled(Control& control) {
  auto& sampling = control.sampling;
  if (!sampling || sampling->lasted || on_device(control.id)) return;
  if (sampling->admits(now_)) {
    if (sampled_one_by_one() && waits(control)) push(now_, kNextSampled, control.id.index);
    return;
  }
  sampling->lasted = now_ - sampling->since;
  push(now_ + until_seen(), kSampleSeen, control.id.index);
}

void AccessWorld::sampled(Control& control) {
  if (!control.sampling || !control.sampling->lasted) return;
  bring_use_up_to_date();
  const Sampling sampling = *std::exchange(control.sampling, std::nullopt);
  note_access(control, static_cast<std::int64_t>(control.access));
  tell_activity(control);
  inform(Sampled{control.id, sampling.joined, sampling.busy, *sampling.lasted - sampling.trapped});
}

void AccessWorld::watch_request(ClientId client) {
  Control& control = controls_[client.index];
  if (!limit_ || (!control.drain && !control.sampling)) return;
  const auto request = running(client);
  if (!request) return;
  Time since = request->since;
  if (control.drain) since = std::max(since, control.drain->since);
  if (control.sampling) since = std::max(since, control.sampling->since);
  if (control.overdue_request == request->id && control.overdue_since == since) return;  // it is watched
  control.overdue_since = since;
  control.overdue_request = request->id;
  control.overdue_event = push(std::max(now_, since + *limit_ + Duration{1}), kOverdue, client.index);
}

void AccessWorld::check_overdue(Control& control) {
  if (!std::exchange(control.overdue, false) || (!control.drain && !control.sampling)) return;
  const auto request = running(control.id);
  if (request && request->id == control.overdue_request)
    inform(Overdue{control.id, now_ - control.overdue_since});
}

// --- Orders

void AccessWorld::check_controlled(const char* order) const {
  if (!controlled_) impossible(std::string(order) + " under a policy that does not control access");
}

AccessWorld::Control& AccessWorld::control_of(ClientId client, const char* order) {
  check_controlled(order);
  if (client.index >= controls_.size()) impossible(std::string(order) + " of a client that there is not");
  return controls_[client.index];
}

void AccessWorld::note_access(const Control& control, std::int64_t access) {
  note({.time = now_, .amount = access, .job = {control.id, 0}, .mark = Mark::access});
}

void AccessWorld::access(ClientId client, Access access) {
  Control& control = control_of(client, "an access");
  if (access < Access::direct || access > Access::deny)
    impossible(fmt::format("access {}, which does not exist", static_cast<std::int64_t>(access)));
  if (control.gone) return;
  if (control.sampling) impossible("an access of a client that is being sampled");
  if (control.access == access) return;
  control.access = access;
  note_access(control, static_cast<std::int64_t>(access));
  settle_waiting(control);
}

void AccessWorld::admit(RequestId request) {
  check_controlled("an admission");
  if (request.value == 0) return;
  const std::uint64_t client = request.value & ((1u << kClientBits) - 1);
  if (client >= controls_.size() || request.value >> kClientBits > requests_)
    impossible("an admission of an unknown request");
  const Control& control = controls_[client];
  if (control.gone) return;
  for (std::uint32_t thread = control.first_thread; thread < control.end_thread; ++thread)
    if (submissions_[thread].held == request) return let_pass(thread);
}

void AccessWorld::grant(ClientId client, std::int64_t channels) {
  Control& control = control_of(client, "a grant of channels");
  if (!control.open) control.granted = std::max<std::int64_t>(0, channels);
}

void AccessWorld::drain(ClientId client) {
  Control& control = control_of(client, "a drain");
  if (control.gone || control.drain) return;
  control.drain = Drain{now_, false};
  if (!on_device(client)) return drained(control);
  watch_request(client);
}

void AccessWorld::sample(ClientId client, Duration span, std::int64_t requests) {
  Control& control = control_of(client, "a sampling");
  if (control.gone) return;
  if (control.sampling) impossible("a sampling of a client that is being sampled");
  if (on_device(client)) impossible("a sampling of a client with something on the device");
  if (span < Duration{} || span > kEndOfClock - now_ || requests < 0)
    impossible(fmt::format("a sampling of {} ns and {} requests", span.ns, requests));
  control.access = Access::deny;
  control.sampling.emplace();
  control.sampling->since = control.sampling->counted = now_;
  control.sampling->until = now_ + span;
  control.sampling->wanted = requests;
  push(now_ + span, kSpan, client.index);
  note_access(control, kSampled);
  settle_waiting(control);
}

void AccessWorld::watch(Duration limit) {
  check_controlled("a watch on requests");
  if (limit < Duration{} || limit > kEndOfClock - Time{})
    impossible(fmt::format("a watch of {} ns", limit.ns));
  limit_ = limit;
}

void AccessWorld::kill(ClientId client) {
  if (!control_of(client, "a kill").gone) leave(client, Mark::killed);
}

}  // namespace gangway
