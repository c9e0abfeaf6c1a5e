#include "hw/live/gate_marks.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

namespace gangway::live {

void GateMarks::put(const StreamName& name, StreamSlot& slot, std::uint64_t begun) {
  const std::lock_guard lock(mutex_);
  if (used_ == marks_.size()) look_locked();
  if (used_ == marks_.size()) thin();
  if (used_ == marks_.size()) return;
  Mark& m = marks_[used_];
  const bool recorded = driver_.record(name, m.event);
  m.context = context_of(name, slot);
  if (!recorded) return;
  m.slot = &slot;
  m.begun = begun;
  ++used_;
}

std::uint64_t GateMarks::context_of(const StreamName& name, const StreamSlot& slot) {
  if (name.context != 0) return name.context;
  const std::uint64_t of_slot = slot.context.load();
  return of_slot != 0 ? of_slot : driver_.context(name);
}

void GateMarks::put_one(const StreamName& name, StreamSlot& slot) { put(name, slot, 0); }

void GateMarks::look() {
  const std::lock_guard lock(mutex_);
  look_locked();
}

void GateMarks::look_locked() {
  const bool captures = captures_.load() != 0;
  const StreamSlot* busy = nullptr;  // behind a mark that is not reached, none of its stream is
  std::size_t kept = 0;
  for (std::size_t m = 0; m < used_; ++m) {
    Mark& mark = marks_[m];
    if (mark.slot != busy && !mark.ends && driver_.reached(mark.event, captures)) {
      over(mark);
      continue;
    }
    busy = mark.begun != 0 ? mark.slot : nullptr;
    if (kept != m) std::swap(marks_[kept], mark);
    ++kept;
  }
  used_ = kept;
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
    const bool later = mark->begun != 0 && std::any_of(kept, end, [&](const Mark& other) {
                         return other.slot == mark->slot && other.begun != 0;
                       });
    if (!later) std::iter_swap(--kept, mark);
  }
  used_ = static_cast<std::size_t>(end - kept);
  std::rotate(begin, kept, end);
}

void GateMarks::context_ends(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  for (std::size_t m = 0; m < marks_.size(); ++m) {
    Mark& mark = marks_[m];
    if (mark.event == nullptr || mark.context != context) continue;
    mark.ends = m < used_;
    if (mark.ends) continue;
    driver_.destroy(mark.event);
    mark = {};
  }
}

void GateMarks::context_ended(std::uint64_t context, bool gone) {
  const std::lock_guard lock(mutex_);
  std::size_t kept = 0;
  for (std::size_t m = 0; m < used_; ++m) {
    Mark& mark = marks_[m];
    const bool its = mark.context == context;
    mark.ends = mark.ends && !its;
    if (its && gone) {
      over(mark);
      mark = {};
      continue;
    }
    if (kept != m) std::swap(marks_[kept], mark);
    ++kept;
  }
  used_ = kept;
}

void GateMarks::forked() {
  new (&mutex_) std::mutex;
  marks_ = {};
  used_ = 0;
}

}  // namespace gangway::live
