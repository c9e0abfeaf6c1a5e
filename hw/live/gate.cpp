#include "hw/live/gate.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kSpin = 100'000;         // ns at a closed gate before the thread sleeps
constexpr std::int64_t kBetweenLooks = 20'000;  // ns asleep while something is still outstanding
constexpr std::int64_t kSleep = 100'000'000;    // ns; then it looks whether the daemon is still there
constexpr std::int64_t kAwake = 100'000;        // ns before a job is due
constexpr std::int64_t kNoRelease = 200'000;    // ns between looks for one

std::int64_t now() { return monotonic_ns(); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  sched_yield();
#endif
}

void sleep(std::int64_t ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

void sleep_while_closed(const PermitPage& permit, std::int64_t most) {
  const timespec limit{0, most};
  syscall(SYS_futex, &permit.allowed, FUTEX_WAIT, 0, &limit, nullptr, 0);
}

constexpr std::uint64_t kDestroyed = StreamName::kPerThread;  // of no thread: a stream that left work behind

unsigned bucket(std::int64_t ns) {
  const unsigned b =
      ns <= 1 ? 0 : 63 - static_cast<unsigned>(__builtin_clzll(static_cast<std::uint64_t>(ns)));
  return b < kBuckets ? b : kBuckets - 1;
}

// What a thread remembers of the page it last used.
struct Remembered {
  std::uint64_t handle = 0, context = 0;
  StreamSlot* slot = nullptr;
};
// Calls of the stream's submissions that have returned, at least: whoever has begun one and not returned is
// inside.
std::uint64_t returned(const StreamSlot& slot, const ClientPage& page) {
  const std::uint64_t begun = slot.begun.load(), inside = page.inside();
  return begun > inside ? begun - inside : 0;
}

struct Local {
  std::uint64_t opening = 0;  // the gate and page that the rest is about
  ThreadSlot* thread = nullptr;
  std::uint32_t depth = 0;
  std::uint64_t generation = 0;
  std::uint64_t number = 0;  // of its last submission: the thread's above, its own below
  bool engaged = false;      // it is under way
  Remembered streams[8];
};
thread_local Local local;

// Gives the thread's slot back. Apart from Local, which so needs no guard at each use.
struct ThreadEnd {
  ~ThreadEnd() {
    if (local.thread != nullptr) local.thread->taken.store(0);
    local = {};
  }
  bool armed = false;
};
thread_local ThreadEnd at_end;

std::atomic<std::uint64_t> threads_named{0}, openings{0};

}  // namespace

StreamName StreamName::of_this_thread(std::uint64_t context) {
  static thread_local const std::uint64_t name = kPerThread + 256 * (1 + threads_named.fetch_add(1));
  return {name, context};
}

std::uint64_t Gate::submission() { return local.engaged ? local.number : 0; }

// --- Slots
// -----------------------------------------------------------------------------------------------------

ThreadSlot* Gate::thread_slot(ClientPage& page) {
  if (local.opening == opening_) return local.thread;
  local.opening = opening_;
  local.thread = nullptr;
  for (Remembered& r : local.streams) r = {};
  at_end.armed = true;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t free = 0;
    if (!page.threads[t].taken.compare_exchange_strong(free, 1)) continue;
    local.thread = &page.threads[t];
    std::uint32_t used = page.slots.load();
    while (used < t + 1 && !page.slots.compare_exchange_weak(used, t + 1)) {
    }
    break;
  }
  return local.thread;
}

void Gate::mark_inside(ThreadSlot* thread, ClientPage& page) {
  if (thread != nullptr)
    thread->inside.exchange(1);
  else
    page.crowd.fetch_add(1);
}

void Gate::mark_outside(ThreadSlot* thread, ClientPage& page) {
  if (thread != nullptr)
    thread->inside.store(0, std::memory_order_release);
  else
    page.crowd.fetch_sub(1);
}

StreamSlot* Gate::stream_slot(const StreamName& name) {
  const std::uint64_t generation = forgotten_.load(std::memory_order_acquire);
  if (local.generation != generation) {
    for (Remembered& r : local.streams) r = {};
    local.generation = generation;
  }
  Remembered& r = local.streams[(name.handle >> 4 ^ name.handle >> 8 ^ name.handle >> 12) & 7];
  if (r.slot == nullptr || r.handle != name.handle || r.context != name.context) {
    const std::lock_guard lock(streams_mutex_);
    r = {name.handle, name.context, find_or_add(name)};
  }
  return r.slot;
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

// Beyond kStreams, streams share the last slot, about which the driver cannot be asked.
StreamSlot* Gate::find_or_add(const StreamName& name) {
  ClientPage& page = *page_.load();
  if (StreamSlot* slot = find(page, name)) return slot;
  const std::uint32_t used = page.streams_used();
  StreamSlot* free = nullptr;
  for (std::uint32_t s = 0; s < used && free == nullptr; ++s) {
    StreamSlot& slot = page.stream[s];
    const std::uint64_t handle = slot.stream.load();
    if (handle == 0 || (handle == kDestroyed && slot.outstanding() == 0)) free = &slot;
  }
  if (free == nullptr) {
    free = &page.stream[used < kStreams ? used : kStreams - 1];
    if (used < kStreams) page.streams.store(used + 1);
  }
  free->context.store(name.legacy() || name.per_thread() ? name.context : driver_.context(name));
  free->stream.store(name.handle);
  return free;
}

// --- Submissions
// -----------------------------------------------------------------------------------------------

Pass Gate::enter(const Submission& submission) {
  if (local.depth++ > 0) return {};
  Pass pass;
  for (;;) {
    const PermitPage& permit = *permit_.load(std::memory_order_acquire);
    if (&permit == &unopened_) {
      if (captures_.load() != 0 && submission.stream != nullptr && driver_.capturing(*submission.stream))
        return pass;
      open_first();
      continue;
    }
    // What is captured does not run.
    if (captures_.load() != 0 && submission.stream != nullptr && driver_.capturing(*submission.stream))
      return pass;
    ClientPage& page = *page_.load(std::memory_order_acquire);
    pass.thread = thread_slot(page);
    if (submission.stream != nullptr) pass.stream = stream_slot(*submission.stream);
    if ((page.job.load(std::memory_order_acquire) & 1) == 0) {
      if (permit.most_channels.load() == 1) {
        --local.depth;
        pass.refused = true;
        return pass;
      }
      begin_job(permit, page);
    }
    GANGWAY_POINT("before-inside");
    mark_inside(pass.thread, page);
    GANGWAY_POINT("inside");
    const std::uint32_t allowed = permit.allowed.load();
    if (allowed == kUnlimited) {
      if (pass.stream != nullptr) pass.stream->begun.fetch_add(1);
      break;
    }
    if (allowed == kIntercepted) {
      const std::uint32_t epoch = permit.epoch.load();
      mark_outside(pass.thread, page);
      if (!wait_for_admission(permit, epoch)) continue;
      mark_inside(pass.thread, page);
      if (permit.allowed.load() == kIntercepted && permit.epoch.load() == epoch) {
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
  // A job that ended while this thread came in did not know of it.
  ClientPage& page = *page_.load();
  if ((page.job.load() & 1) == 0 && job_begins(page) && jobs_are_ != JobsAre::ranges)
    count_begin(page, now());
  if (const std::uint64_t counted = page.counted.load(std::memory_order_relaxed); (counted & 1) != 0)
    if (JobSlot& slot = page.jobs[counted / 2 % kJobs]; slot.begun.load(std::memory_order_relaxed) == 0)
      slot.begun.store(now(), std::memory_order_relaxed);
  if (local.number == 0) local.number = (threads_named.fetch_add(1) + 1) << 40;
  ++local.number;
  local.engaged = true;
  GANGWAY_POINT("permitted");
  return pass;
}

void Gate::leave(const Pass& pass, const Submission& submission, bool submitted) {
  --local.depth;
  if (!pass.engaged) return;
  local.engaged = false;
  GANGWAY_POINT("submitted");
  ClientPage& page = *page_.load(std::memory_order_relaxed);
  if (pass.stream != nullptr && !submitted) pass.stream->begun.fetch_sub(1);
  // No other thread can ask about a thread's own stream.
  if (pass.stream != nullptr && submitted &&
      ((pass.limited && !submission.waits) || submission.stream->per_thread())) {
    // This one is among those inside, and submitted.
    const std::uint64_t begun = pass.stream->begun.load();
    mark(*submission.stream, *pass.stream, begun + 1 - page.inside());
  }
  if (pass.thread != nullptr)
    pass.thread->submissions.store(pass.thread->submissions.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_relaxed);
  GANGWAY_POINT("before-outside");
  mark_outside(pass.thread, page);
  GANGWAY_POINT("outside");
}

// The thread is marked inside, but waits for room outside. True: it is inside and counted, or nothing went on
// for so long that it goes on without room.
bool Gate::room(const PermitPage& permit, std::uint32_t allowed, Pass& pass) {
  ClientPage& page = *page_.load();
  pass.limited = true;
  std::uint64_t last = UINT64_MAX;
  std::int64_t since = 0;
  for (std::uint32_t turn = 0;; ++turn) {
    if (take_place(page, allowed, pass.stream)) return true;
    mark_outside(pass.thread, page);
    look_at_marks();
    if ((turn & 63) == 63) {  // what has no mark has to be asked for
      if (page.outstanding() >= allowed) look();
      const std::int64_t time = now();
      if (const std::uint64_t outstanding = page.outstanding(); outstanding != last) {
        last = outstanding;
        since = time;
      } else if (time - since > patience_) {
        allowed = kUnlimited;
        page.forced.fetch_add(1);
      }
    }
    mark_inside(pass.thread, page);
    const std::uint32_t still = permit.allowed.load();
    if (still == 0 || (allowed != kUnlimited && still != allowed)) return false;
  }
}

bool Gate::take_place(ClientPage& page, std::uint32_t allowed, StreamSlot* slot) {
  const std::lock_guard lock(places_mutex_);
  if (slot == nullptr) return true;
  if (page.outstanding() >= allowed) return false;
  slot->begun.fetch_add(1);
  return true;
}

// Without a free mark the stream itself will be asked.
void Gate::mark(const StreamName& name, StreamSlot& slot, std::uint64_t begun) {
  const std::lock_guard lock(marks_mutex_);
  if (marks_used_ == marks_.size()) return;
  Mark& m = marks_[marks_used_];
  if (!driver_.record(name, m.event)) return;
  m.slot = &slot;
  m.begun = begun;
  ++marks_used_;
}

void Gate::look_at_marks() {
  const std::lock_guard lock(marks_mutex_);
  const bool captures = captures_.load() != 0;
  const StreamSlot* busy = nullptr;  // behind a mark that is not reached, none of its stream is
  std::size_t kept = 0;
  for (std::size_t m = 0; m < marks_used_; ++m) {
    Mark& mark = marks_[m];
    if (mark.slot != busy && driver_.reached(mark.event, captures)) {
      mark.slot->over(mark.begun);
      continue;
    }
    busy = mark.slot;
    if (kept != m) std::swap(marks_[kept], mark);
    ++kept;
  }
  marks_used_ = kept;
}

void Gate::wait_for_permit(const PermitPage& permit) {
  ClientPage& page = *page_.load();
  const std::int64_t began = now();
  page.waiting.fetch_add(1);
  GANGWAY_POINT("waiting");
  if (permit.polled.load() == 0) source_.ring();
  while (permit.allowed.load() == 0 && permit_.load() == &permit) {
    const bool over = look();  // somebody may be waiting for that
    if (now() - began < kSpin)
      relax();
    else
      sleep_while_closed(permit, over ? kSleep : kBetweenLooks);
  }
  GANGWAY_POINT("woken");
  page.waiting.fetch_sub(1);
  const std::int64_t end = now();
  page.held.fetch_add(1);
  page.held_ns.fetch_add(static_cast<std::uint64_t>(end - began));
  if (const std::int64_t decided = permit.decided.load(); decided > began)
    page.woken[bucket(end - decided)].fetch_add(1);
}

// False: the permit has changed meanwhile.
bool Gate::wait_for_admission(const PermitPage& permit, std::uint32_t epoch) {
  ClientPage& page = *page_.load();
  const std::int64_t began = now();
  page.waiting.fetch_add(1);
  const std::uint64_t number = page.asked.fetch_add(1) + 1;
  GANGWAY_POINT("asks");
  if (permit.polled.load() == 0) source_.ring();
  bool admitted = false;
  while (permit.epoch.load() == epoch && permit_.load() == &permit) {
    admitted = permit.admitted.load() >= number;
    if (admitted) break;
    if (now() - began < kSpin)
      relax();
    else
      sleep(kBetweenLooks);
  }
  page.waiting.fetch_sub(1);
  page.held.fetch_add(1);
  page.held_ns.fetch_add(static_cast<std::uint64_t>(now() - began));
  return admitted;
}

void Gate::open_first() {
  const std::lock_guard lock(first_mutex_);
  if (permit_.load() != &unopened_) return;
  const Source::Pages pages = source_.open();
  pages.client->unknown.store(unknown_.load());
  pages.client->whole.store(jobs_are_ == JobsAre::whole ? 1 : 0);
  page_.store(pages.client);
  opening_ = openings.fetch_add(1) + 1;
  forgotten_.store(opening_ << 32);
  permit_.store(pages.permit != nullptr ? pages.permit : &open_);
}

// --- Jobs
// ------------------------------------------------------------------------------------------------------

// Until the next job may begin: when it arrived. 0: another thread's submission has begun it.
std::int64_t Gate::await_release(const PermitPage& permit, ClientPage& page) {
  const Releases& releases = permit.releases;
  const std::int64_t came = now();
  for (;;) {
    const std::uint32_t kind = releases.kind.load();
    if (kind == Releases::own || permit_.load() != &permit) return came;
    const std::uint64_t job = page.counted.load();
    if ((job & 1) != 0) return 0;
    if (job / 2 >= releases.count.load()) {
      sleep(kNoRelease);
      continue;
    }
    std::int64_t due = releases.since.load();
    if (kind == Releases::timed)
      due = releases.due[job / 2 % kReleases].load();
    else if (const std::int64_t think = releases.think.load(); think > 0 && job > 0)
      due = std::max(due, page.jobs[(job / 2 - 1) % kJobs].ended.load() + think);
    if (releases.kind.load() != kind) continue;  // the count may be of the new kind
    if (const std::int64_t left = due - now(); left > kAwake)
      sleep(std::min(left - kAwake, kNoRelease));
    else if (left > 0)
      relax();
    else
      return kind == Releases::timed ? due : std::max(came, due);
  }
}

// At its first submission.
void Gate::begin_job(const PermitPage& permit, ClientPage& page) {
  if (jobs_are_ == JobsAre::ranges) {
    if (ranges_.load() > 0 && (page.counted.load() & 1) == 0)  // it had no page yet when it began
      if (const std::int64_t arrived = await_release(permit, page); arrived != 0) count_begin(page, arrived);
    job_begins(page);
  } else if (const std::int64_t arrived = await_release(permit, page); arrived != 0) {
    if (job_begins(page)) count_begin(page, arrived);
  }
}

bool Gate::job_begins(ClientPage& page) {
  std::uint64_t job = page.job.load();
  while ((job & 1) == 0)
    if (page.job.compare_exchange_weak(job, job + 1)) return true;
  return false;
}

void Gate::count_begin(ClientPage& page, std::int64_t arrived) {
  std::uint64_t counted = page.counted.load();
  if ((counted & 1) != 0) return;
  JobSlot& slot = page.jobs[counted / 2 % kJobs];
  slot.begun.store(0, std::memory_order_relaxed);
  slot.arrived.store(arrived, std::memory_order_relaxed);
  slot.number.store(counted / 2 + 1, std::memory_order_release);
  page.counted.compare_exchange_strong(counted, counted + 1);
}

void Gate::count_end(ClientPage& page) {
  std::uint64_t counted = page.counted.load();
  if ((counted & 1) == 0) return;
  page.jobs[counted / 2 % kJobs].ended.store(now(), std::memory_order_release);
  page.counted.compare_exchange_strong(counted, counted + 1);
}

// Whoever comes in meanwhile sees that no job is under way and begins one, or is seen inside here.
void Gate::job_may_be_over(ClientPage& page) {
  std::uint64_t job = page.job.load();
  if ((job & 1) == 0 || page.outstanding() != 0) return;
  if (!page.nobody_inside() || page.waiting.load() != 0) return;
  if (jobs_are_ == JobsAre::whole || ranges_.load() > 0) return;
  if (!page.job.compare_exchange_strong(job, job + 1)) return;
  count_end(page);
  if (page.nobody_inside() && page.outstanding() == 0) return;
  // It was a pause, and counts as a job's end all the same.
  if (job_begins(page) && jobs_are_ == JobsAre::synchronised) count_begin(page, now());
}

void Gate::range_begins() {
  if (ranges_.fetch_add(1) > 0) return;
  ClientPage* page = page_.load();
  const PermitPage& permit = *permit_.load();
  if (page == nullptr || &permit == &unopened_) return;
  count_end(*page);
  if (const std::int64_t arrived = await_release(permit, *page); arrived != 0) count_begin(*page, arrived);
}

void Gate::range_ends() {
  if (ranges_.fetch_sub(1) > 1) return;
  ClientPage* page = page_.load();
  if (page == nullptr) return;
  if ((page->job.load() & 1) == 0)
    count_end(*page);  // nothing was submitted
  else
    after();
}

std::uint64_t Gate::before(const StreamName& stream) {
  ClientPage* page = page_.load();
  if (page == nullptr || local.depth > 0) return 0;
  thread_slot(*page);
  const std::lock_guard lock(streams_mutex_);
  const StreamSlot* slot = find(*page, stream);
  return slot != nullptr ? returned(*slot, *page) : 0;
}

void Gate::after(const StreamName& stream, std::uint64_t begun) {
  ClientPage* page = page_.load();
  if (page == nullptr || local.depth > 0) return;
  if (begun != 0) {
    const std::lock_guard lock(streams_mutex_);
    if (StreamSlot* slot = find(*page, stream)) slot->over(begun);
  }
  after();
}

void Gate::after() {
  ClientPage* page = page_.load();
  if (page == nullptr || local.depth > 0 || (page->job.load() & 1) == 0) return;
  if (page->outstanding() == 0 || look()) job_may_be_over(*page);
}

bool Gate::look() {
  ClientPage* page = page_.load();
  if (page == nullptr) return true;
  look_at_marks();
  const std::lock_guard lock(streams_mutex_);
  return look_locked(*page);
}

bool Gate::look_locked(ClientPage& page) {
  bool all = true;
  for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
    StreamSlot& slot = page.stream[s];
    if (slot.outstanding() == 0) continue;
    const std::uint64_t begun = returned(slot, page);
    const StreamName name{slot.stream.load(), slot.context.load()};
    // A query of the legacy stream fails a capture of a blocking one.
    const bool askable = name.handle != 0 && !name.per_thread() &&
                         (captures_.load() == 0 || (!name.legacy() && !driver_.capturing(name)));
    if (!askable || !driver_.idle(name)) {
      all = false;
      continue;
    }
    slot.over(begun);
    all = all && slot.outstanding() == 0;
  }
  return all;
}

// --- Channels
// --------------------------------------------------------------------------------------------------

bool Gate::channel_opens() {
  if (permit_.load() == &unopened_) open_first();
  const std::uint32_t most = permit_.load()->most_channels.load();
  const std::lock_guard lock(channels_mutex_);
  if (most != 0 && channels_.size() + opening_channels_ + 1 > most - 1) return false;
  ++opening_channels_;
  count_channels();
  return true;
}

void Gate::channel_failed() {
  const std::lock_guard lock(channels_mutex_);
  --opening_channels_;
  count_channels();
}

void Gate::channel_opened(std::uint64_t stream, std::uint64_t context) {
  const std::lock_guard lock(channels_mutex_);
  --opening_channels_;
  channels_.push_back({stream, context});
}

void Gate::channels_closed(std::uint64_t stream, std::uint64_t context) {
  const std::lock_guard lock(channels_mutex_);
  std::erase_if(channels_, [&](const Channel& channel) {
    return stream != 0 ? channel.stream == stream : channel.context == context;
  });
  count_channels();
}

void Gate::count_channels() {
  if (ClientPage* page = page_.load())
    page->channels.store(static_cast<std::uint32_t>(channels_.size()) + opening_channels_);
}

void Gate::found_unknown() {
  const std::uint32_t so_far = unknown_.fetch_add(1) + 1;
  if (ClientPage* page = page_.load()) page->unknown.store(so_far);
}

// --- Captures, destruction, forks
// ------------------------------------------------------------------------------

Gate::Capture::Capture(Gate& gate, Kind kind) : gate_(gate) {
  if (kind == joins && gate.captures_.load() == 0) return;  // nothing to join
  gate.streams_mutex_.lock();
  locked_ = true;
  if (kind == begins) {
    counted_ = true;
    gate.captures_.fetch_add(1);
  }
}

Gate::Capture::~Capture() {
  if (counted_) gate_.captures_.fetch_sub(1);
  if (locked_) gate_.streams_mutex_.unlock();
}

Gate::Destruction::Destruction(Gate& gate, const StreamName* stream, std::uint64_t context)
    : lock_(gate.streams_mutex_),
      gate_(gate),
      stream_(stream != nullptr ? stream->handle : 0),
      context_(context) {
  ClientPage* page = gate.page_.load();
  if (page == nullptr || stream_ == 0) return;
  // What is still on the stream goes on without it; a mark will say when it is over.
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    if (slot.stream.load() == stream_ && slot.outstanding() != 0) gate.mark(*stream, slot, slot.begun.load());
  }
}

void Gate::Destruction::done() {
  ClientPage* page = gate_.page_.load();
  if (page == nullptr) return;
  for (std::uint32_t s = 0, n = page->streams_used(); s < n; ++s) {
    StreamSlot& slot = page->stream[s];
    const bool it = stream_ != 0 ? slot.stream.load() == stream_ : slot.context.load() == context_;
    if (!it || slot.stream.load() == 0) continue;
    if (stream_ == 0) slot.over(slot.begun.load());
    slot.stream.store(slot.outstanding() == 0 ? 0 : kDestroyed);
  }
  gate_.forgotten_.fetch_add(1);
}

void Gate::forked() {
  local = {};
  permit_.store(&unopened_);
  page_.store(nullptr);
  captures_.store(0);
  new (&first_mutex_) std::mutex;
  new (&channels_mutex_) std::mutex;
  channels_.clear();
  opening_channels_ = 0;
  new (&streams_mutex_) std::mutex;
  new (&marks_mutex_) std::mutex;
  new (&places_mutex_) std::mutex;
  marks_ = {};
  marks_used_ = 0;
}

}  // namespace gangway::live
