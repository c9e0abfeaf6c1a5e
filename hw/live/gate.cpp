#include "hw/live/gate.hpp"

#include <sched.h>

#include <algorithm>
#include <new>

#include "hw/live/kill_points.hpp"
#include "hw/live/thread_end.hpp"

namespace gangway::live {
namespace {

std::atomic<std::uint64_t> threads_named{0}, openings{0};
thread_local std::uint64_t own_stream = 0;  // the handle that stands for the thread's; 0: not used so far

// The thread has ended.
void give_slots_back() {
  if (gate_thread.thread != nullptr) gate_thread.thread->taken.store(0);
  if (gate_thread.page != nullptr && own_stream != 0)
    for (std::uint32_t s = 0, n = gate_thread.page->streams_used(); s < n; ++s) {
      std::uint64_t its = own_stream;
      gate_thread.page->stream[s].stream.compare_exchange_strong(its, its | Gate::kEnded);
    }
  gate_thread = {};
  own_stream = 0;  // whoever submits all the same needs another name
}

}  // namespace

StreamName StreamName::of_this_thread(std::uint64_t context) {
  if (own_stream == 0) own_stream = kPerThread + 256 * (1 + threads_named.fetch_add(1));
  return {own_stream, context};
}

std::uint64_t Gate::submission() { return gate_thread.engaged ? gate_thread.number : 0; }

bool Gate::nested() { return gate_thread.depth > 0; }
Gate::Nested::Nested() { ++gate_thread.depth; }
Gate::Nested::~Nested() { --gate_thread.depth; }

// --- Slots
// -----------------------------------------------------------------------------------------------------

inline ThreadSlot* Gate::thread_slot(ClientPage& page) {
  return gate_thread.opening == opening_.load() ? gate_thread.thread : take_thread_slot(page);
}

ThreadSlot* Gate::take_thread_slot(ClientPage& page) {
  gate_thread.opening = opening_.load();
  gate_thread.page = &page;
  gate_thread.thread = nullptr;
  gate_thread.job = 0;
  gate_thread.forget_streams();
  if (gate_thread.number == 0) gate_thread.number = (threads_named.fetch_add(1) + 1) << 40;
  if (!ThreadEnd<&give_slots_back>::await()) return nullptr;  // the slot would never be free again
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t free = 0;
    if (!page.threads[t].taken.compare_exchange_strong(free, 1)) continue;
    gate_thread.thread = &page.threads[t];
    std::uint32_t used = page.slots.load();
    while (used < t + 1 && !page.slots.compare_exchange_weak(used, t + 1)) {
    }
    break;
  }
  return gate_thread.thread;
}

inline StreamSlot* Gate::stream_slot(const StreamName& name) {
  const std::uint64_t generation = forgotten_.load(std::memory_order_acquire);
  if (StreamSlot* const slot = gate_thread.slot(name, generation)) return slot;
  if (gate_thread.generation != generation) {
    gate_thread.forget_streams();
    gate_thread.generation = generation;
  }
  StreamSlot* const slot = find_or_add(name);
  gate_thread.remember(name, slot);
  return slot;
}

StreamSlot* Gate::find(ClientPage& page, const StreamName& name) {
  const bool by_context = name.legacy() || name.per_thread();
  for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
    StreamSlot& slot = page.stream[s];
    if (slot.stream.load() == name.handle && (!by_context || slot.context.load() == name.context))
      return &slot;
  }
  return nullptr;
}

// Streams beyond kStreams - 1 share the last slot.
StreamSlot* Gate::find_or_add(const StreamName& name) {
  const std::lock_guard lock(streams_mutex_);
  ClientPage& page = *page_.load();
  if (StreamSlot* slot = find(page, name)) return slot;
  const std::uint32_t used = page.streams_used();
  StreamSlot* const last = &page.stream[kStreams - 1];
  StreamSlot* free = nullptr;
  for (std::uint32_t s = 0; s < used && free == nullptr; ++s) {
    StreamSlot& slot = page.stream[s];
    const std::uint64_t handle = slot.stream.load();
    const bool ended = handle == kDestroyed || ((handle & kEnded) != 0 && StreamName{handle, 0}.per_thread());
    if (handle == 0 || (ended && slot.outstanding() == 0)) free = &slot;
  }
  if (free == nullptr && used >= kStreams - 1) {
    last->stream.store(kShared);
    page.streams.store(kStreams);
    return last;
  }
  if (free == nullptr) {
    free = &page.stream[used];
    page.streams.store(used + 1);
  }
  free->context.store(name.legacy() || name.per_thread() ? name.context : driver_.context(name));
  free->stream.store(name.handle);
  return free;
}

// Calls of the stream's submissions that have returned, at least: whoever has begun one and not returned is
// inside. None: a submission failed meanwhile, so it may have been counted as begun, and not as inside.
std::optional<std::uint64_t> Gate::returned(const StreamSlot& slot, const ClientPage& page) const {
  const std::uint64_t failed = failed_.load();
  if (failing_.load() != 0) return std::nullopt;
  const std::uint64_t begun = slot.begun.load(), inside = page.inside();
  if (failing_.load() != 0 || failed_.load() != failed) return std::nullopt;
  return begun > inside ? begun - inside : 0;
}

// The thread is inside.
void Gate::take_back(StreamSlot& slot) {
  failing_.fetch_add(1);
  slot.begun.fetch_sub(1);
  failed_.fetch_add(1);
  failing_.fetch_sub(1);
}

// --- Submissions
// -----------------------------------------------------------------------------------------------

Pass Gate::enter_slowly(const Submission& submission) {
  Pass pass;
  for (;;) {
    const PermitPage& permit = *permit_.load(std::memory_order_acquire);
    // What is captured does not run.
    if (captures_.load() != 0) [[unlikely]]
      if (submission.stream != nullptr && driver_.capturing(*submission.stream)) return pass;
    if (&permit == &unopened_) [[unlikely]] {
      open_first();
      continue;
    }
    ClientPage& page = *page_.load(std::memory_order_acquire);
    pass.thread = thread_slot(page);
    if (submission.stream != nullptr) pass.stream = stream_slot(*submission.stream);
    if ((page.job.load(std::memory_order_acquire) & 1) == 0) [[unlikely]] {
      if (permit.most_channels.load() == 1) {
        --gate_thread.depth;
        pass.refused = true;
        return pass;
      }
      jobs_.begin(permit, page);
    }
    GANGWAY_POINT("before-inside");
    mark_inside(pass.thread, page);
    GANGWAY_POINT("inside");
    const std::uint32_t allowed = permit.allows(page.job.load());
    if (permit_.load() != &permit) [[unlikely]] {  // another daemon's may say something else
      mark_outside(pass.thread, page);
      continue;
    }
    if (allowed == kUnlimited) [[likely]] {
      if (pass.stream != nullptr) pass.stream->begun.fetch_add(1);
      break;
    }
    if (allowed == kIntercepted) [[unlikely]] {
      const std::uint32_t epoch = permit.epoch.load();
      mark_outside(pass.thread, page);
      if (!wait_for_admission(permit, epoch)) continue;
      mark_inside(pass.thread, page);
      if (permit.allowed.load() == kIntercepted && permit.epoch.load() == epoch &&
          permit_.load() == &permit) {
        if (pass.stream != nullptr) pass.stream->begun.fetch_add(1);
        break;
      }
      mark_outside(pass.thread, page);
      continue;
    }
    if (allowed != 0 && room(permit, allowed, pass)) break;
    mark_outside(pass.thread, page);
    if (allowed == 0) wait_for_permit(permit);
  }
  pass.engaged = true;
  jobs_.passes(*page_.load(), gate_thread.job);
  ++gate_thread.number;
  gate_thread.engaged = true;
  GANGWAY_POINT("permitted");
  return pass;
}

void Gate::leave_slowly(const Pass& pass, const Submission& submission, bool submitted) {
  ClientPage& page = *page_.load(std::memory_order_relaxed);
  if (pass.stream != nullptr && !submitted) take_back(*pass.stream);
  // No other thread can ask about a thread's own stream.
  if (pass.stream != nullptr && submitted) {
    const bool shared = pass.stream->stream.load(std::memory_order_relaxed) == kShared;
    if (shared || (pass.limit != 0 && !submission.waits && marks_.due(page, *pass.stream, pass.limit)) ||
        submission.stream->per_thread()) [[unlikely]]
      mark(pass, *submission.stream, page, shared);
  }
  if (pass.thread != nullptr) return ended(*pass.thread);
  page.crowd_submissions.fetch_add(1, std::memory_order_relaxed);
  GANGWAY_POINT("before-outside");
  page.crowd.fetch_sub(1);
  GANGWAY_POINT("outside");
}

void Gate::open_first() {
  const std::lock_guard lock(first_mutex_);
  if (permit_.load() != &unopened_) return;
  const Source::Pages pages = source_.open();
  pages.client->unknown.store(unknown_.load());
  pages.client->whole.store(jobs_.are_whole() ? 1 : 0);
  pages.client->ranges.store(jobs_.are_ranges() ? 1 : 0);
  if (const std::int64_t asked = priority_.load(); asked != INT64_MIN) {
    pages.client->priority.store(static_cast<std::int32_t>(asked));
    pages.client->priorities.fetch_add(1);
  }
  page_.store(pages.client);
  const std::uint64_t opening = openings.fetch_add(1) + 1;
  opening_.store(opening);
  forgotten_.store(opening << 32);
  permit_.store(pages.permit != nullptr ? pages.permit : &open_);
}

// --- Jobs
// ------------------------------------------------------------------------------------------------------

void Gate::range_begins() {
  if (!jobs_.range_opens()) return;
  ClientPage* page = page_.load();
  const PermitPage& permit = *permit_.load();
  if (page != nullptr && &permit != &unopened_) jobs_.begin_range(permit, *page);
}

void Gate::range_ends() {
  if (!jobs_.range_closes()) return;
  ClientPage* page = page_.load();
  if (page == nullptr) return;
  if ((page->job.load() & 1) == 0)
    jobs_.count_end(*page);  // nothing was submitted
  else
    after();
}

std::uint64_t Gate::before(const StreamName& stream) {
  ClientPage* page = page_.load();
  if (page == nullptr || gate_thread.depth > 0) return 0;
  thread_slot(*page);
  const std::lock_guard lock(streams_mutex_);
  const StreamSlot* slot = find(*page, stream);
  return slot != nullptr ? returned(*slot, *page).value_or(0) : 0;
}

void Gate::after(const StreamName& stream, std::uint64_t begun) {
  ClientPage* page = page_.load();
  if (page == nullptr || gate_thread.depth > 0) return;
  if (begun != 0) {
    const std::lock_guard lock(streams_mutex_);
    if (StreamSlot* slot = find(*page, stream)) slot->over(begun);
  }
  after();
}

void Gate::after() {
  ClientPage* page = page_.load();
  if (page == nullptr || gate_thread.depth > 0 || (page->job.load() & 1) == 0) return;
  if (page->outstanding() == 0 || look()) jobs_.may_be_over(*page);
}

bool Gate::look() {
  ClientPage* page = page_.load();
  if (page == nullptr) return true;
  marks_.look();
  const std::lock_guard lock(streams_mutex_);
  return look_locked(*page);
}

bool Gate::look_beside() {
  ClientPage* page = page_.load();
  if (page == nullptr) return true;
  marks_.look_unless_busy();
  const std::unique_lock lock(streams_mutex_, std::try_to_lock);
  return lock ? look_locked(*page) : page->outstanding() == 0;
}

// The caller has streams_mutex_.
bool Gate::context_ends(const StreamSlot& slot) const {
  const std::uint64_t its = slot.context.load();
  return its != 0 && std::find(ending_.begin(), ending_.end(), its) != ending_.end();
}

bool Gate::look_locked(ClientPage& page) {
  bool all = true;
  for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
    StreamSlot& slot = page.stream[s];
    if (slot.outstanding() == 0) continue;
    const std::optional<std::uint64_t> begun = returned(slot, page);
    const StreamName name{slot.stream.load(), slot.context.load()};
    // A query of the legacy stream fails a capture of a blocking one.
    const bool askable = name.handle != 0 && !name.per_thread() && !context_ends(slot) &&
                         (captures_.load() == 0 || (!name.legacy() && !driver_.capturing(name)));
    if (!begun || !askable || !driver_.idle(name)) {
      all = false;
      continue;
    }
    slot.over(*begun);
    all = all && slot.outstanding() == 0;
  }
  return all;
}

bool Gate::channel_opens() {
  if (permit_.load() == &unopened_) open_first();
  return channels_.opens(permit_.load()->most_channels.load());
}

void Gate::ask_for_priority(std::int32_t priority) {
  priority_.store(priority);
  ClientPage* const page = page_.load();
  if (page == nullptr) return;
  page->priority.store(priority);
  page->priorities.fetch_add(1);
  if (permit().polled.load() == 0) source_.ring();
}

bool Gate::found_unknown() {
  const std::uint32_t so_far = unknown_.fetch_add(1) + 1;
  if (ClientPage* page = page_.load()) page->unknown.store(so_far);
  return so_far == 1;
}

// --- Captures, destruction, forks
// ------------------------------------------------------------------------------

Gate::CaptureBegin::CaptureBegin(Gate& gate, const StreamName& stream)
    : lock_(gate.streams_mutex_), gate_(gate), stream_(stream) {
  if (stream.context == 0) stream_.context = gate.driver_.context(stream);
  if (gate.captures_.fetch_add(1) == 0) gate.mark_rest();
}

void Gate::CaptureBegin::began() {
  const std::lock_guard lock(gate_.captures_mutex_);
  const auto known = [this](const StreamName& one) {
    return one.handle == stream_.handle && one.context == stream_.context;
  };
  // A capture of that stream ended unseen.
  if (std::any_of(gate_.capturing_.begin(), gate_.capturing_.end(), known)) return;
  gate_.capturing_.push_back(stream_);
  counted_ = false;
}

Gate::CaptureBegin::~CaptureBegin() {
  if (counted_) gate_.captures_.fetch_sub(1);
}

Gate::CaptureJoin::CaptureJoin(Gate& gate) {
  if (gate.captures_.load() != 0) lock_ = std::unique_lock(gate.streams_mutex_);  // else nothing to join
}

template <typename Which>
void Gate::captures_end(const Which& which) {
  const std::lock_guard lock(captures_mutex_);
  captures_.fetch_sub(static_cast<std::uint32_t>(std::erase_if(capturing_, which)));
}

void Gate::capture_ended(const StreamName& stream) {
  captures_end([&](const StreamName& one) {
    return one.handle == stream.handle && (!stream.per_thread() || one.context == stream.context);
  });
}

Gate::StreamEnd::StreamEnd(Gate& gate, const StreamName& stream)
    : lock_(gate.streams_mutex_), gate_(gate), stream_(stream.handle) {
  ClientPage* page = gate.page_.load();
  if (page == nullptr || stream_ == 0) return;
  idle_ = all_over(*page, stream_);
  // What is still on the stream goes on without it; a mark will say when it is over.
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    if (slot.stream.load() != stream_ || slot.outstanding() == 0) continue;
    const std::uint64_t begun = slot.begun.load();
    if (!gate.marks_.put(stream, slot, begun)) slot.over(begun);  // else it would be outstanding for ever
  }
}

// What is in the shared slot may be its.
bool Gate::all_over(const ClientPage& page, std::uint64_t handle) {
  for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
    const StreamSlot& slot = page.stream[s];
    const std::uint64_t its = slot.stream.load();
    if ((its == handle || its == (handle | kEnded) || its == kShared) && slot.outstanding() != 0)
      return false;
  }
  return true;
}

bool Gate::idle_of_ended(std::uint64_t handle) const {
  const ClientPage* page = page_.load();
  return page != nullptr && all_over(*page, handle);
}

void Gate::StreamEnd::gone() {
  gate_.captures_end([this](const StreamName& one) { return one.handle == stream_; });
  ClientPage* page = gate_.page_.load();
  if (page == nullptr || stream_ == 0) return;
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    if (slot.stream.load() == stream_) slot.stream.store(slot.outstanding() == 0 ? 0 : kDestroyed);
  }
  gate_.forgotten_.fetch_add(1);
}

Gate::ContextEnd::ContextEnd(Gate& gate, std::uint64_t context) : gate_(gate), context_(context) {
  for (; context_ != 0; sched_yield()) {
    const std::lock_guard lock(gate.streams_mutex_);
    const auto free = std::find(gate.ending_.begin(), gate.ending_.end(), 0);
    if (free == gate.ending_.end()) continue;
    *free = context;
    place_ = static_cast<std::size_t>(free - gate.ending_.begin());
    gate.marks_.context_ends(context);
    return;
  }
}

void Gate::ContextEnd::gone() {
  gone_ = true;
  gate_.captures_end([this](const StreamName& one) { return one.context == context_; });
  ClientPage* page = gate_.page_.load();
  if (page == nullptr) return;
  const std::lock_guard lock(gate_.streams_mutex_);
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    if (slot.stream.load() == 0 || slot.context.load() != context_) continue;
    slot.over(slot.begun.load());
    slot.stream.store(slot.outstanding() == 0 ? 0 : kDestroyed);
  }
  gate_.forgotten_.fetch_add(1);
}

Gate::ContextEnd::~ContextEnd() {
  if (context_ == 0) return;
  gate_.marks_.context_ended(context_, gone_);
  const std::lock_guard lock(gate_.streams_mutex_);
  gate_.ending_[place_] = 0;
}

void Gate::forked() {
  gate_thread = {};
  permit_.store(&unopened_);
  page_.store(nullptr);
  captures_.store(0);
  new (&captures_mutex_) std::mutex;
  capturing_.clear();
  failing_.store(0);
  over_when_forced_.store(UINT64_MAX);
  new (&first_mutex_) std::mutex;
  channels_.forked();
  new (&streams_mutex_) std::mutex;
  ending_ = {};
  marks_.forked();
  new (&places_mutex_) std::mutex;
  new (&memory_mutex_) std::mutex;
  memory_away_ = open_when_here_ = false;
}

}  // namespace gangway::live
