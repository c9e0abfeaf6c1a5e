#include "hw/live/gate_marks.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

#include "hw/live/monotonic.hpp"

namespace gangway::live {

bool GateMarks::put(const StreamName& name, StreamSlot& slot, std::uint64_t begun) {
  const std::lock_guard lock(mutex_);
  if (used_ == marks_.size()) look_locked();
  if (used_ == marks_.size()) thin();
  if (used_ == marks_.size()) return false;
  Mark& m = marks_[used_];
  if (!driver_.record(name, m.event)) {  // the event may be of another context than the stream
    if (m.event != nullptr) driver_.destroy(m.event);
    m = {};
    return false;
  }
  m.context = context_of(name, slot);
  m.slot = &slot;
  m.begun = begun;
  if (begun != 0) slot.marked.store(begun);
  ++used_;
  return true;
}

std::uint64_t GateMarks::context_of(const StreamName& name, const StreamSlot& slot) {
  if (name.context != 0) return name.context;
  const std::uint64_t of_slot = slot.context.load();
  return of_slot != 0 ? of_slot : driver_.context(name);
}

// Without an event it counts as over: else it would be outstanding for ever.
void GateMarks::put_one(const StreamName& name, StreamSlot& slot) {
  if (!put(name, slot, 0)) slot.known.fetch_add(1);
}

void GateMarks::look() {
  const std::lock_guard lock(mutex_);
  look_locked();
}

void GateMarks::look_unless_busy() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) look_locked();
}

void GateMarks::look_locked() {
  const bool captures = captures_.load() != 0;
  const StreamSlot* busy = nullptr;  // behind a mark that is not reached, none of its stream is
  std::size_t kept = 0;
  std::uint64_t ended = 0;
  for (std::size_t m = 0; m < used_; ++m) {
    Mark& mark = marks_[m];
    const bool known = mark.begun != 0 && mark.slot->known.load() >= mark.begun;
    if (!ends(mark) && (known || (mark.slot != busy && driver_.reached(mark.event, captures)))) {
      const std::uint64_t before = mark.slot->known.load();
      over(mark);
      ended += mark.slot->known.load() - before;
      continue;
    }
    busy = mark.begun != 0 ? mark.slot : nullptr;
    if (kept != m) std::swap(marks_[kept], mark);
    ++kept;
  }
  used_ = kept;
  if (ended == 0) return;
  const std::int64_t now = monotonic_ns(), before = std::exchange(progress_, now);
  quick_ = now - before < static_cast<std::int64_t>(ended) * kQuick;
}

void GateMarks::over(const Mark& mark) {
  if (mark.begun != 0)
    mark.slot->over(mark.begun);
  else
    mark.slot->known.fetch_add(1);
}

// Keeps the latest mark of each stream: what is before it is over by then, too.
void GateMarks::thin() {
  const auto begin = marks_.begin(), end = begin + static_cast<std::ptrdiff_t>(used_);
  auto kept = end;
  for (auto mark = end; mark-- != begin;) {
    const bool later = mark->begun != 0 && !ends(*mark) && std::any_of(kept, end, [&](const Mark& other) {
                         return other.slot == mark->slot && other.begun != 0;
                       });
    if (!later) std::iter_swap(--kept, mark);
  }
  used_ = static_cast<std::size_t>(end - kept);
  std::rotate(begin, kept, end);
}

bool GateMarks::ends(const Mark& mark) const {
  return mark.context != 0 && std::find(ending_.begin(), ending_.end(), mark.context) != ending_.end();
}

void GateMarks::context_ends(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  *std::find(ending_.begin(), ending_.end(), 0) = context;
  for (std::size_t m = used_; m < marks_.size(); ++m) {
    if (marks_[m].event == nullptr || marks_[m].context != context) continue;
    driver_.destroy(marks_[m].event);
    marks_[m] = {};
  }
}

void GateMarks::context_ended(std::uint64_t context, bool gone) {
  const std::lock_guard lock(mutex_);
  *std::find(ending_.begin(), ending_.end(), context) = 0;
  std::size_t kept = 0;
  for (std::size_t m = 0; gone && m < used_; ++m) {
    if (marks_[m].context == context) {
      over(marks_[m]);
      marks_[m] = {};
      continue;
    }
    if (kept != m) std::swap(marks_[kept], marks_[m]);
    ++kept;
  }
  if (gone) used_ = kept;
}

void GateMarks::forked() {
  new (&mutex_) std::mutex;
  marks_ = {};
  used_ = 0;
  progress_ = 0;
  quick_ = false;
  ending_ = {};
}

}  // namespace gangway::live
