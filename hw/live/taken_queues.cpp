#include "hw/live/taken_queues.hpp"

#include <algorithm>

#include "hw/live/gate.hpp"

namespace gangway::live {
namespace {

// Whoever has not submitted by then, with the gate open, may never do so: a call can fail before it reaches
// the gate.
constexpr std::int64_t kForgotten = 1'000'000'000;  // ns

}  // namespace

bool TakenQueues::has_taken(const StreamName& stream) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const Taken& taken) {
    return taken.stream.handle == stream.handle && taken.stream.context == stream.context;
  });
}

bool TakenQueues::take(ClientPage& page, const StreamName& stream, std::uint64_t context, std::size_t most,
                       Moment moment) {
  if (most == 0) return false;  // although it has one: the keeper would have none
  const std::lock_guard lock(mutex_);
  const StreamSlot* const its = Gate::find(page, stream);
  if (its != nullptr && its->outstanding() != 0) return true;
  const std::int64_t able_since = std::min(moment.now, moment.open_since);
  for (Taken& taken : taken_) taken.when = std::max(taken.when, able_since);
  std::erase_if(taken_, [&](const Taken& taken) {
    const StreamSlot* const slot = Gate::find(page, taken.stream);
    const bool submitted = slot != nullptr && slot->begun.load() != taken.begun;
    return (submitted || moment.now - taken.when > kForgotten) && !held_(taken.stream);
  });
  if (has_taken(stream)) return true;
  auto others = static_cast<std::size_t>(std::count_if(
      taken_.begin(), taken_.end(), [&](const Taken& taken) { return taken.context == context; }));
  for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
    const StreamSlot& slot = page.stream[s];
    if (slot.context.load() != context || slot.outstanding() == 0) continue;
    const StreamName name{slot.stream.load(), 0};
    const bool own = !name.legacy() && !name.per_thread();
    others += has_taken({name.handle, own ? 0 : context}) ? 0 : 1;
  }
  if (others >= most) return false;
  taken_.push_back({stream, context, its != nullptr ? its->begun.load() : 0, moment.now});
  return true;
}

}  // namespace gangway::live
