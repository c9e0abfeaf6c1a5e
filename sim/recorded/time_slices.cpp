#include "sim/recorded/time_slices.hpp"

#include <algorithm>

namespace gangway {

TimeSlices::TimeSlices(std::uint32_t contexts, const std::optional<TimeSlice>& slice)
    : slice_(slice), ready_(contexts), stopped_(contexts), running_(contexts) {}

void TimeSlices::reset() {
  std::fill(ready_.begin(), ready_.end(), false);
  std::fill(stopped_.begin(), stopped_.end(), false);
  std::fill(running_.begin(), running_.end(), 0);
  current_.reset();
  successor_.reset();
  unqueued_since_.reset();
  phase_ = Phase::nobody;
  expired_ = changed_ = false;
}

void TimeSlices::set_ready(std::uint32_t context, bool ready) {
  if (ready_[context] == static_cast<char>(ready)) return;
  ready_[context] = ready;
  changed_ = slice_.has_value();
}

std::optional<std::uint32_t> TimeSlices::next_ready() const {
  const auto count = static_cast<std::uint32_t>(ready_.size());
  const std::uint32_t from = current_ ? *current_ : count - 1;
  for (std::uint32_t step = 1; step <= count; ++step)
    if (const std::uint32_t context = (from + step) % count; ready_[context] && context != current_)
      return context;
  return std::nullopt;
}

// TS2. `queued`: whether the current one has due work behind the heads of its streams.
void TimeSlices::choose_successor(Time now, bool queued) {
  if (successor_ && unqueued_since_ && now > *unqueued_since_ + slice_->choice && ready_[*successor_]) return;
  successor_ = next_ready();
  if (queued)
    unqueued_since_.reset();
  else if (!unqueued_since_)
    unqueued_since_ = now;
}

TimeSlices::Change TimeSlices::settle(Time now, const std::function<bool(std::uint32_t)>& queued) {
  Change change;
  changed_ = false;
  if (phase_ == Phase::switching) {
    if (now < until_) return change;
    begin_turn(change);
  } else if (phase_ == Phase::nobody) {
    current_ = next_ready();
    if (!current_) return change;
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
  choose_successor(now, queued(*current_));
  const std::optional<std::uint32_t> next = successor_;
  const bool idle = phase_ == Phase::idle;
  const Time gives_up = idle_since_ + slice_->linger;
  if (next && (expired_ || slice_end_ <= now || (idle && gives_up <= now))) {
    const bool soon = idle && now <= gives_up;  // the switch counts from the end of its kernels
    leave(*next, running_[*current_] > 0, slice_->context_switch - (soon ? now - idle_since_ : Duration{}),
          now, change);
    return change;
  }
  if (!expired_ && slice_end_ <= now) {
    expired_ = !queued(*current_);
    if (!expired_) slice_end_ = now + slice_->renewal;
  }
  if (!expired_) change.look = slice_end_;
  if (idle && next) change.look = std::min(change.look.value_or(gives_up), gives_up);
  return change;
}

// The kernels of the current one run.
void TimeSlices::begin_turn(Change& change) {
  phase_ = Phase::on;
  unqueued_since_.reset();
  expired_ = false;
  stopped_[*current_] = false;
  change.on = current_;
}

void TimeSlices::leave(std::uint32_t next, bool in_kernel, Duration cost, Time now, Change& change) {
  change.off = current_;
  stopped_[*current_] = in_kernel;
  const Time loaded = now + cost + (in_kernel ? slice_->stop : Duration{});
  current_ = next;
  phase_ = Phase::switching;
  until_ = loaded + (stopped_[next] ? slice_->resume : Duration{});
  slice_end_ = loaded + slice_->length;
  change.look = until_;
  changed_ = until_ == now;
}

}  // namespace gangway
