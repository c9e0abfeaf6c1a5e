#include "sim/recorded/time_slices.hpp"

#include <algorithm>

namespace gangway {

TimeSlices::TimeSlices(std::uint32_t contexts, const Device& device)
    : slice_(device.arbitration == Arbitration::mps ? std::nullopt : device.time_slice),
      costs_(slice_.value_or(TimeSlice{}), device),
      ready_(contexts),
      running_(contexts),
      stopped_(contexts) {}

void TimeSlices::reset() {
  std::fill(ready_.begin(), ready_.end(), false);
  std::fill(stopped_.begin(), stopped_.end(), 0);
  std::fill(running_.begin(), running_.end(), 0);
  current_.reset();
  phase_ = Phase::nobody;
  expired_ = changed_ = false;
}

void TimeSlices::set_ready(std::uint32_t context, bool ready) {
  if (ready_[context] == static_cast<char>(ready)) return;
  ready_[context] = ready;
  changed_ = slice_.has_value();
}

void TimeSlices::was_queued(std::uint32_t context, Time since) {
  if (slice_ && current_ == context) successor_.was_queued(since, slice_->choice);
}

TimeSlices::Change TimeSlices::settle(Time now, const std::function<bool(std::uint32_t, Time)>& queued) {
  Change change;
  changed_ = false;
  if (phase_ == Phase::switching) {
    if (now < until_) return change;
    begin_turn(change);
  } else if (phase_ == Phase::nobody) {
    const auto first = std::find(ready_.begin(), ready_.end(), true);
    if (first == ready_.end()) return change;
    current_ = static_cast<std::uint32_t>(first - ready_.begin());
    slice_end_ = now + slice_->length;
    begin_turn(change);
  }
  if (ready_[*current_]) {
    if (phase_ == Phase::idle && now > idle_since_ + slice_->linger) {
      slice_end_ = now + slice_->length;  // it comes back to a GPU that nobody else wanted
      expired_ = false;
    }
    phase_ = Phase::on;
  } else if (phase_ != Phase::idle) {
    idle_since_ = now;
    phase_ = Phase::idle;
  }
  successor_.look(
      now, slice_->choice, *current_, ready_.size(),
      [&](std::size_t context) { return ready_[context] != 0; },
      [&](Time by) { return queued(*current_, by); });
  const std::optional<std::size_t> next = successor_.context();
  const bool idle = phase_ == Phase::idle;
  const Time gives_up = idle_since_ + slice_->linger;
  if (next && (expired_ || slice_end_ <= now || (idle && gives_up <= now))) {
    const bool soon = idle && now <= gives_up;  // the switch counts from the end of its kernels
    leave(static_cast<std::uint32_t>(*next), slice_->context_switch - (soon ? now - idle_since_ : Duration{}),
          now, change);
    return change;
  }
  if (!expired_ && slice_end_ <= now) {
    expired_ = !queued(*current_, now);
    if (!expired_) slice_end_ = now + slice_->renewal;
  }
  if (!expired_) change.look = slice_end_;
  if (idle && next) change.look = std::min(change.look.value_or(gives_up), gives_up);
  return change;
}

// The kernels of the current one run.
void TimeSlices::begin_turn(Change& change) {
  phase_ = Phase::on;
  successor_.begin_turn();
  expired_ = false;
  stopped_[*current_] = 0;
  change.on = current_;
}

void TimeSlices::leave(std::uint32_t next, Duration cost, Time now, Change& change) {
  change.off = current_;
  stopped_[*current_] = running_[*current_];
  const Time loaded = now + cost + costs_.stop(stopped_[*current_]);
  current_ = next;
  phase_ = Phase::switching;
  until_ = loaded + costs_.resume(stopped_[next]);
  slice_end_ = loaded + slice_->length;
  change.look = until_;
  changed_ = until_ == now;
}

}  // namespace gangway
