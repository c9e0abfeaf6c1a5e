#include "sim/blocks/context_turns.hpp"

#include <algorithm>
#include <map>

namespace gangway {

std::vector<std::uint32_t> contexts_of(std::span<const Client> clients, const Device& device) {
  std::vector<std::uint32_t> contexts;
  std::map<std::string, std::uint32_t> by_name, by_stream;
  std::uint32_t count = 0;
  for (const Client& client : clients) {
    if (device.arbitration != Arbitration::timeslice || !device.rules.on(Rule::T1)) {
      contexts.push_back(0);
      continue;
    }
    auto& known = client.context.empty() ? by_stream : by_name;
    const std::string& name = client.context.empty() ? client.stream : client.context;
    const auto found = name.empty() ? known.end() : known.find(name);
    contexts.push_back(found != known.end() ? found->second : count++);
    if (!name.empty()) known.emplace(name, contexts.back());
  }
  return contexts;
}

void ContextTurns::reset() {
  active_ = by_waiting() ? 0 : contexts_ - 1;  // created last, it is on the device before the run
  successor_.reset();
  in_ring_.begin_turn();
  std::fill(waits_since_.begin(), waits_since_.end(), std::nullopt);
  used_ = !by_waiting();
  renews_ = expired_ = open_ = false;
  idle_ = true;
  from_ = until_ = {};
  alarmed_.reset();
}

std::optional<std::size_t> ContextTurns::longest_waiting(Time now, const ContextWork& work) {
  std::optional<std::size_t> first;
  for (std::size_t context = 0; context < contexts_; ++context) {
    auto& since = waits_since_[context];
    if (context == active_ || !work.waits(context))
      since.reset();
    else if (!since)
      since = now;
    if (since && (!first || *since < *waits_since_[*first])) first = context;
  }
  return first;
}

void ContextTurns::choose_successor(Time now, const ContextWork& work) {
  if (by_waiting()) {
    successor_ = longest_waiting(now, work);
    return;
  }
  const auto waits = [&](std::size_t context) { return work.waits(context); };
  in_ring_.look(now, slice_.choice, active_, contexts_, waits,
                [&](Time by) { return by == now && work.queued(active_); });
  successor_ = in_ring_.context();
}

std::optional<std::size_t> ContextTurns::turn(Time now, const ContextWork& work) {
  if (due(now)) alarmed_.reset();
  open_ = false;
  const bool busy = work.present(active_), wanted = busy || work.waits(active_);
  if (idle_ && wanted) begin(now, active_, work);
  if (now > until_ && !expired_) {
    if (renews_)
      until_ = until_ + Duration{mul_div_ceil((now - until_).ns, 1, slice_.length.ns) * slice_.length.ns};
    else
      expired_ = true;
  }
  renews_ = false;
  if (by_waiting() || now >= from_ || !wanted) choose_successor(now, work);
  idle_ = !wanted && !successor_;
  if (idle_) return std::nullopt;
  if (successor_ && (!wanted || now >= until_)) {
    if (busy && !slice_.stops_blocks) return std::nullopt;  // its blocks drain
    begin(now, *successor_, work);
    if (by_waiting() || now >= from_) choose_successor(now, work);
  }
  if (now < from_) {
    wake_at(from_);
    return std::nullopt;
  }
  renews_ = !expired_ && !successor_ && (by_waiting() || work.queued(active_));
  if (successor_ || (renews_ && !by_waiting())) wake_at(now < until_ ? until_ : until_ + slice_.length);
  open_ = true;
  return active_;
}

void ContextTurns::begin(Time now, std::size_t context, const ContextWork& work) {
  from_ = now;
  Duration resume{};
  if (used_ && context != active_) {
    from_ = from_ + slice_.context_switch;
    if (slice_.stops_blocks) {
      from_ = from_ + costs_.stop(work.held(active_));
      resume = costs_.resume(work.held(context));
    }
  }
  until_ = from_ + slice_.length;  // it contains the resumption
  from_ = from_ + resume;
  active_ = context;
  successor_.reset();
  in_ring_.begin_turn();
  used_ = true;
  renews_ = expired_ = false;
}

void ContextTurns::wake_at(Time time) {
  if (alarmed_ == time) return;
  alarmed_ = time;
  alarm_.events.push(time, alarm_.event_id);
}

}  // namespace gangway
