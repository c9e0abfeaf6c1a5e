#include "hw/live/gate_marks.hpp"

#include <new>
#include <utility>

namespace gangway::live {

// Without a free mark the stream itself will be asked.
void GateMarks::put(const StreamName& name, StreamSlot& slot, std::uint64_t begun) {
  const std::lock_guard lock(mutex_);
  if (used_ == marks_.size()) return;
  Mark& m = marks_[used_];
  if (!driver_.record(name, m.event)) return;
  m.slot = &slot;
  m.begun = begun;
  ++used_;
}

void GateMarks::look() {
  const std::lock_guard lock(mutex_);
  const bool captures = captures_.load() != 0;
  const StreamSlot* busy = nullptr;  // behind a mark that is not reached, none of its stream is
  std::size_t kept = 0;
  for (std::size_t m = 0; m < used_; ++m) {
    Mark& mark = marks_[m];
    if (mark.slot != busy && driver_.reached(mark.event, captures)) {
      mark.slot->over(mark.begun);
      continue;
    }
    busy = mark.slot;
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
