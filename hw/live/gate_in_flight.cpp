// The limit of submissions in flight, and the events that tell when they are over.
#include <algorithm>

#include "hw/live/gate.hpp"
#include "hw/live/monotonic.hpp"

namespace gangway::live {

// The thread is marked inside, but waits for room outside. True: it is inside and counted, with room, or
// without because nothing has ended for long, or since another passed without.
bool Gate::room(const PermitPage& permit, std::uint32_t allowed, Pass& pass) {
  ClientPage& page = *page_.load();
  pass.limit = allowed;
  std::uint64_t last = UINT64_MAX;
  std::int64_t since = 0;
  for (std::uint32_t turn = 0;; ++turn) {
    if (take_place(page, allowed, pass.stream)) return true;
    mark_outside(pass.thread, page);
    marks_.look();
    // What has no mark has to be asked for.
    if ((turn & 7) == 7 && page.outstanding() >= allowed) look();
    if ((turn & 63) == 63) {
      const std::int64_t time = monotonic_ns();
      const std::uint64_t over = page.over();
      if (over != last) since = time;
      last = over;
      // The ends of a group are seen at once.
      if ((time - since) / GateMarks::group(allowed) > patience_ || over == over_when_forced_.load()) {
        allowed = kUnlimited;
        page.forced.fetch_add(1);
        over_when_forced_.store(over);
      }
    }
    mark_inside(pass.thread, page);
    const std::uint32_t still = permit.allowed.load();
    if (still == 0 || (allowed != kUnlimited && still != allowed) || permit_.load() != &permit) return false;
  }
}

bool Gate::take_place(ClientPage& page, std::uint32_t allowed, StreamSlot* slot) {
  const std::lock_guard lock(places_mutex_);
  if (slot == nullptr) return true;
  if (page.outstanding() >= allowed) return false;
  slot->begun.fetch_add(1);
  return true;
}

void Gate::mark(const Pass& pass, const StreamName& stream, const ClientPage& page, bool shared) {
  if (shared) return marks_.put_one(stream, *pass.stream);
  std::optional<std::uint64_t> begun;
  while (!begun) begun = returned(*pass.stream, page);
  // This one is inside, and submitted. Nobody else submits to a thread's own stream.
  marks_.put(stream, *pass.stream, stream.per_thread() ? pass.stream->begun.load() : *begun + 1);
}

// Puts an event behind what has none, since streams may soon not be asked. The caller has streams_mutex_.
void Gate::mark_rest() {
  ClientPage* const page = page_.load();
  const std::uint32_t allowed = permit_.load()->allowed.load();
  if (page == nullptr || allowed == kUnlimited || allowed == kIntercepted) return;
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    const StreamName name{slot.stream.load(), slot.context.load()};
    if (slot.outstanding() == 0 || name.handle == 0 || name.per_thread() || context_ends(slot)) continue;
    const std::optional<std::uint64_t> begun = returned(slot, *page);
    if (begun && *begun > slot.marked.load()) marks_.put(name, slot, *begun);
  }
}

}  // namespace gangway::live
