#include "hw/live/launch_keeper.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <optional>
#include <vector>

#include "hw/live/cores.hpp"
#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"
#include "hw/live/thread_end.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kAwakeSpin = 100'000, kAwakeYield = 5'000'000;  // ns; as threads at the gate
constexpr std::int64_t kUnhurried = 200'000;  // ns between looks while nobody competes
constexpr std::int64_t kAttentive = 10'000;   // ns between looks while others do
constexpr std::int64_t kBetweenRehearsals = 400'000, kBetweenQuestions = 50'000;  // ns
constexpr std::int64_t kAsleep = 20'000'000;                                      // ns, while all is away
constexpr std::int64_t kBetweenTries = 20'000;  // ns, of who waits for launches to be over
constexpr std::int64_t kPolite = 200'000'000;  // ns; then no launch begins before the call that is made alone
constexpr std::int64_t kWaitsForAlone = 50'000'000;  // ns, of a launch
// ns without an end of a launch, while they may run, after which they are taken to wait for the thread.
constexpr std::int64_t kWaitsForOthers = 500'000'000, kWaitsForTold = 2'000'000'000,
                       kWaitsForRoom = 300'000'000;
// Likewise before a call that waits for the device. The launches in its company cannot be evicted until it
// returns, so they are given time to end.
constexpr std::int64_t kWaitsForCall = 10'000'000'000;
// Places in the driver's queue behind a launch that is not over. The queue has some 1,000, and a thread that
// waits for one in the driver would hold up the keeper. With much behind, launches take no form.
constexpr std::uint64_t kMuchBehind = 384, kMostBehind = 960;
constexpr std::int64_t kCrowded = 1'000'000'000;  // ns; a program of many streams waits no more often
// A stream for a queue, while launches that may run do not end: they may wait for what it will do.
constexpr std::int64_t kWaitsForQueue = 100'000'000, kBetweenAttempts = 100'000;  // ns

constexpr std::size_t kEndedAtOnce = 4;  // own streams

// The own stream of the thread, if the keeper knows it.
struct KeptStream {
  LaunchKeeper* keeper = nullptr;
  std::uint64_t handle = 0;
};
thread_local KeptStream kept_stream;

thread_local int alone_here = 0;  // calls of the thread that are made alone, inside each other

}  // namespace

LaunchKeeper::LaunchKeeper(Gate& gate, Driver& driver, Contexts& contexts)
    : gate_(gate),
      driver_(driver),
      contexts_(contexts),
      held_({[this](StreamId stream, std::uint32_t number) { return look_at(stream, number); },
             [this](HeldWork::Mark mark) { return driver_.reached(mark, true); },
             [this](HeldWork::Mark mark) { contexts_.give_back(mark); },
             [this](StreamId stream) {
               const std::lock_guard lock(mutex_);
               context_of_.erase(stream);
             }}),
      queues_([this](const StreamName& stream) { return held_.is_held(known(stream)); }) {}

// --- Streams
// -----------------------------------------------------------------------------------------------

StreamId LaunchKeeper::id(const StreamName& stream) {
  const std::lock_guard lock(mutex_);
  StreamId& id = ids_[{stream.handle, stream.context}];
  if (id != 0) return id;
  id = ++streams_;
  if (stream.per_thread()) {
    if (kept_stream.handle != stream.handle) own_stream_ends();  // it ended, and called the driver once more
    kept_stream = {this, stream.handle};
    ThreadEnd<&LaunchKeeper::own_stream_ends>::await();
  }
  return id;
}

StreamId LaunchKeeper::known(const StreamName& stream) {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find({stream.handle, stream.context});
  return found == ids_.end() ? 0 : found->second;
}

// The driver is left to the keeper's thread: what it keeps of this thread may be gone already.
void LaunchKeeper::own_stream_ends() {
  if (kept_stream.keeper == nullptr) return;
  std::atomic<OwnStream*>& all = kept_stream.keeper->just_ended_;
  auto* const its = new OwnStream{kept_stream.handle, all.load()};
  while (!all.compare_exchange_weak(its->next, its)) {
  }
  kept_stream = {};
}

// Those of threads that have ended, once nothing of them is outstanding. A few at a time: an order may come.
void LaunchKeeper::forget_own_streams() {
  for (OwnStream* next = just_ended_.exchange(nullptr); next != nullptr;) {
    const std::unique_ptr<OwnStream> its(next);
    next = its->next;
    ended_streams_.push_back(its->handle);
  }
  for (std::size_t left = std::min(kEndedAtOnce, ended_streams_.size()); left > 0; --left) {
    const std::uint64_t handle = ended_streams_.front();
    ended_streams_.pop_front();
    if (!gate_.idle_of_ended(handle)) {
      ended_streams_.push_back(handle);
      continue;
    }
    std::vector<std::uint64_t> contexts;
    {
      const std::lock_guard lock(mutex_);
      for (auto one = ids_.lower_bound({handle, 0}); one != ids_.end() && one->first.first == handle; ++one)
        contexts.push_back(one->first.second);
    }
    for (const std::uint64_t context : contexts) destroyed({handle, context}, true);
  }
}

HeldWork::Kind LaunchKeeper::kind(const StreamName& stream) {
  if (stream.legacy()) return HeldWork::Kind::legacy;
  if (stream.per_thread()) return HeldWork::Kind::blocking;
  const StreamId its = id(stream);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = kinds_.find(its); known != kinds_.end()) return known->second;
  }
  const auto found = contexts_.blocks(stream) ? HeldWork::Kind::blocking : HeldWork::Kind::apart;
  const std::lock_guard lock(mutex_);
  return kinds_[its] = found;
}

std::uint64_t LaunchKeeper::context_of(const StreamName& stream) {
  return stream.context != 0 ? stream.context : driver_.context(stream);
}

LaunchIs LaunchKeeper::look_at(StreamId stream, std::uint32_t number) {
  std::shared_ptr<Context> its;
  {
    const std::lock_guard lock(mutex_);
    const auto context = context_of_.find(stream);
    const auto found = context == context_of_.end() ? books_.end() : books_.find(context->second);
    if (found == books_.end()) return LaunchIs::over;
    its = found->second;
  }
  if (its->book->over(stream, number)) return LaunchIs::over;
  return its->book->stopped(stream) ? LaunchIs::left : LaunchIs::under_way;
}

void LaunchKeeper::submits(const StreamName& stream) {
  const StreamId its = id(stream);
  const std::uint64_t context = context_of(stream);
  const HeldWork::Kind how = kind(stream);
  for (Standstill still; any(); sleep_ns(kBetweenTries)) {
    const std::uint64_t behind = held_.behind(its);
    if (behind < kMuchBehind || (behind < kMostBehind && stuck(still, kWaitsForRoom))) break;
  }
  await_queue(stream, context, [this] { return any(); });
  held_.submits(its, context, how);
}

// Launches may run, and none has ended for long.
bool LaunchKeeper::stands_still(Standstill& still, std::int64_t patience) const {
  const std::int64_t now = monotonic_ns();
  const std::uint64_t ended = ended_.load();
  const bool closed = gate_.closed();
  if (closed || still.ended != ended) still = {now, ended};
  return !closed && now - still.since > patience;
}

// Likewise, or none since that was last found.
bool LaunchKeeper::stuck(Standstill& still, std::int64_t patience) {
  const bool stands = stands_still(still, patience);
  if (gate_.closed()) return false;
  if (still.ended == ended_when_stuck_.load()) return true;
  if (stands) ended_when_stuck_.store(still.ended);
  return stands;
}

// Launches that were told to leave, and have not begun, will need the keeper soon after they begin.
bool LaunchKeeper::joins(Standstill& still, bool seldom_waits) {
  const std::lock_guard lock(mutex_);
  bool all_new = true, told = false;
  for (const auto& [context, its] : books_) {
    if (its->book == nullptr) continue;
    all_new = all_new && its->book->all_are_new();
    told = told || its->book->some_are_told();
  }
  if (leaving_ || !all_new) return false;
  if (seldom_waits ? !stuck(still, told ? kWaitsForTold : kWaitsForOthers)
                   : !stands_still(still, kWaitsForCall))
    return false;
  company_.fetch_add(1);
  return true;
}

// The page may not know yet that other streams are idle.
bool LaunchKeeper::queue_for(const StreamName& stream, std::uint64_t context) {
  ClientPage* const page = gate_.page();
  const auto take = [&] {
    return queues_.take(*page, stream, context, contexts_.most_streams(),
                        {monotonic_ns(), gate_.open_since()});
  };
  if (page == nullptr || take()) return true;
  gate_.look();
  return take();
}

void LaunchKeeper::await_queue(const StreamName& stream, std::uint64_t context,
                               const std::function<bool()>& needed) {
  for (std::int64_t since = monotonic_ns(); needed() && !queue_for(stream, context);) {
    const std::int64_t now = monotonic_ns();
    crowded_.store(now);
    if (gate_.closed()) since = now;
    if (now - since > kWaitsForQueue) return;
    sleep_ns(kBetweenAttempts);
  }
}

void LaunchKeeper::records(const StreamName& stream, std::uint64_t event) {
  held_.submits(id(stream), context_of(stream), kind(stream));
  held_.recorded(event, id(stream));
}

void LaunchKeeper::waits(const StreamName& stream, std::uint64_t event) {
  const StreamId its = id(stream);
  const std::uint64_t context = context_of(stream);
  await_queue(stream, context, [&] { return held_.held(event); });
  if (!held_.held(event)) return;
  held_.submits(its, context, kind(stream));
  // Without a mark the stream seems to go on.
  if (Driver::Event mark = nullptr; driver_.record(stream, mark)) held_.waits(its, event, mark);
}

void LaunchKeeper::destroyed(const StreamName& stream, bool idle) {
  StreamId its = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto known = ids_.find({stream.handle, stream.context});
    if (known == ids_.end()) return;
    its = known->second;
    ids_.erase(known);
    kinds_.erase(its);
    const auto context = context_of_.find(its);
    const auto found = context == context_of_.end() ? books_.end() : books_.find(context->second);
    if (found != books_.end()) found->second->book->forget(its, idle);
  }
  held_.forget(its);
}

// Handles of its streams may come again, for streams of other kinds.
void LaunchKeeper::context_destroyed(std::uint64_t context) {
  std::shared_ptr<Context> gone;
  held_.forget_all_of(context);
  const std::lock_guard lock(mutex_);
  std::erase_if(context_of_, [&](const auto& one) { return one.second == context; });
  std::erase_if(ids_, [&](const auto& one) {
    if (context_of_.count(one.second) != 0) return false;
    kinds_.erase(one.second);
    return true;
  });
  const auto found = books_.find(context);
  if (found == books_.end()) return;
  gone = std::move(found->second);
  books_.erase(found);
}

// --- Launches
// ------------------------------------------------------------------------------------------------

std::shared_ptr<LaunchKeeper::Context> LaunchKeeper::book(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Context>& its = books_[context];
  if (its != nullptr) return its;
  its = std::make_shared<Context>();
  its->port = contexts_.open(context);
  if (its->port != nullptr) its->book = std::make_unique<LaunchBook>(*its->port);
  if (its->book != nullptr && leaving_) its->book->leave();
  return its;
}

bool LaunchKeeper::launch(std::uint64_t context, const StreamName& stream,
                          std::unique_ptr<RepeatableLaunch> launch) {
  const std::shared_ptr<Context> its = book(context);
  if (its->book == nullptr) return false;
  const StreamId number = id(stream);
  const HeldWork::Kind how = kind(stream);
  if (held_.behind(number) >= kMuchBehind) return false;
  if (monotonic_ns() < crowded_.load() + kCrowded || !queue_for(stream, context)) return false;
  {
    const std::lock_guard lock(mutex_);
    context_of_[number] = context;
  }
  held_.launches(number, context, how);
  under_way_.fetch_add(1);
  const LaunchBook::Launched launched = its->book->launch(std::move(launch), number);
  if (!launched.number) {
    under_way_.fetch_sub(1);
    return launched.submitted;
  }
  held_.launched(number, *launched.number);
  GANGWAY_POINT("launched");
  if (ClientPage* page = gate_.page()) page->formed.fetch_add(1);
  {
    const std::lock_guard lock(wake_mutex_);
    begin_thread();
  }
  wake_.notify_one();
  return true;
}

void LaunchKeeper::let_others_be_alone() {
  if (alone_.load() == 0 || alone_here != 0) return;
  for (const std::int64_t began = monotonic_ns();
       alone_.load() != 0 && monotonic_ns() - began < kWaitsForAlone;)
    sleep_ns(kBetweenTries);
}

LaunchKeeper::Launching::Launching(LaunchKeeper& keeper) : keeper_(keeper) {
  keeper_.launching_.fetch_add(1);
  allowed_ = keeper_.alone_.load() == 0;
  if (!allowed_) keeper_.launching_.fetch_sub(1);
}

LaunchKeeper::Launching::~Launching() {
  if (allowed_) keeper_.launching_.fetch_sub(1);
}

LaunchKeeper::Alone::Alone(LaunchKeeper* keeper, bool or_in_company) : keeper_(keeper) {
  if (keeper_ != nullptr && alone_here++ == 0) in_company_ = keeper_->come_alone(or_in_company);
}

LaunchKeeper::Alone::~Alone() {
  if (in_company_) keeper_->company_.fetch_sub(1);
  if (keeper_ != nullptr && --alone_here == 0) keeper_->alone_.fetch_sub(1);
}

// Until launches are over, which the keeper sees: it looks often meanwhile. True: in company.
bool LaunchKeeper::come_alone(bool or_in_company) {
  const std::int64_t began = monotonic_ns();
  Standstill still;
  bool polite = true;
  const struct Awaited {
    explicit Awaited(std::atomic<std::uint32_t>& threads) : threads_(threads) { threads_.fetch_add(1); }
    ~Awaited() { threads_.fetch_sub(1); }
    std::atomic<std::uint32_t>& threads_;
  } awaited(awaited_);
  const auto pause = [&] {
    if (any() && asleep_.load())
      syscall(SYS_futex, &gate_.permit().allowed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    monotonic_ns() - began < kAwakeYield ? static_cast<void>(sched_yield()) : sleep_ns(kBetweenTries);
  };
  for (;; pause()) {
    if (polite && any()) {
      const bool found_stuck = or_in_company && ended_.load() == ended_when_stuck_.load();
      if (monotonic_ns() - began < kPolite && !found_stuck) continue;
      polite = false;
      alone_.fetch_add(1);
      continue;
    }
    if (polite) alone_.fetch_add(1);
    if (launching_.load() == 0 && !any()) return false;
    if (polite) {
      alone_.fetch_sub(1);
      continue;
    }
    if (launching_.load() == 0 && joins(still, or_in_company)) return true;
  }
}

// --- The keeper's thread
// -------------------------------------------------------------------------------------

void LaunchKeeper::begin_thread() {
  if (has_thread_) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are none of its business
  pthread_t made;
  has_thread_ = pthread_create(&made, nullptr, &LaunchKeeper::thread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (has_thread_) pthread_detach(made);
}

void* LaunchKeeper::thread(void* self) {
  pthread_setname_np(pthread_self(), "gangway-keeper");
  static_cast<LaunchKeeper*>(self)->run();
}

void LaunchKeeper::run() {
  has_a_core_ = has_many_cores();
  if (has_a_core_) poll_attentively(false);  // it must not keep the program's own threads from their cores
  contexts_.thread_begins();
  std::int64_t since = 0;
  bool was_away = false;
  for (;;) {
    if (!any()) {
      std::unique_lock lock(wake_mutex_);
      wake_.wait(lock, [this] { return any(); });
    }
    const bool away = turn();
    if (away != was_away) since = monotonic_ns();
    was_away = away;
    rest(away, since);
  }
}

// Until the next look. While others compete for the device, an order may come at any time.
void LaunchKeeper::rest(bool away, std::int64_t since) {
  const PermitPage& permit = gate_.permit();
  const std::uint32_t allowed = permit.allowed.load();
  const auto sleep = [&](std::int64_t most) {
    const timespec limit{0, most};
    syscall(SYS_futex, &permit.allowed, FUTEX_WAIT, allowed, &limit, nullptr, 0);
  };
  if (away && allowed == 0) {
    const std::int64_t waited = monotonic_ns() - since;
    if (waited < kAwakeSpin) return spin_pause();
    if (waited < kAwakeYield) return static_cast<void>(sched_yield());
    return sleep(kAsleep);
  }
  const bool slicing = slicing_.load(), polled = permit.polled.load() != 0;
  const std::uint32_t awaited = awaited_.load();
  const bool unhurried = allowed != 0 && !polled && !slicing && awaited == 0;
  // To wake a sleeping thread takes some 20 us.
  if (unhurried && (permit.company.load() == 0 || !has_a_core_)) {
    asleep_.store(true);
    if (awaited_.load() == 0) sleep(kUnhurried);
    return asleep_.store(false);
  }
  // An order is heard at once; the driver is asked less often, since an order would wait for its answer.
  const std::int64_t pause = unhurried ? kUnhurried : allowed != 0 && !slicing ? kAttentive : 0;
  const std::int64_t end = monotonic_ns() + pause;
  do spin_pause();
  while (permit.allowed.load() == allowed && (permit.polled.load() != 0) == polled &&
         awaited_.load() == awaited && monotonic_ns() < end);
  if (permit.allowed.load() == allowed) sched_yield();
}

bool LaunchKeeper::turn() {
  forget_own_streams();
  const PermitPage& permit = gate_.permit();
  const std::uint32_t epoch = permit.epoch.load();
  bool closed = false;
  ClientPage* const page = gate_.page();
  std::uint64_t evicted = 0;
  {
    const std::lock_guard lock(mutex_);
    closed = permit.allowed.load() == 0 && company_.load() == 0;
    for (auto& [context, its] : books_) {
      if (its->book == nullptr || closed == leaving_) continue;
      closed ? its->book->leave() : its->book->go_on();
      if (closed) GANGWAY_POINT("told-to-leave");
    }
    if (closed && !leaving_) departures_.told(monotonic_ns());
    for (auto& [context, its] : books_) {
      if (its->book == nullptr) continue;
      // When the permit returns, whoever has not left by then goes on at once.
      if (const std::int64_t limit = permit.drain_limit.load(); limit != 0)
        its->book->set_patience(limit - limit / 4);
      if (!closed && leaving_) GANGWAY_POINT("may-go-on");
      its->book->step();
      const std::uint64_t evictions = its->book->evictions(), ended = its->book->ended();
      evicted += evictions - std::exchange(its->evictions, evictions);
      const std::uint64_t failures = its->book->failed_launches();
      if (page != nullptr && failures != its->failures)
        page->failed_launches.fetch_add(failures - std::exchange(its->failures, failures));
      const std::uint64_t more = ended - std::exchange(its->ended, ended);
      under_way_.fetch_sub(more);
      ended_.fetch_add(more);
      if (page != nullptr && its->book->kernels_that_wait() != its->that_wait) tell_who_waits(*its, *page);
    }
    if (evicted > 0 && page != nullptr) departures_.left(*page, evicted, monotonic_ns());
    if (!closed) departures_.go_on(monotonic_ns());
    if (!closed) rehearse(permit);
    if (page != nullptr) turn_of_slices(permit, *page);
    leaving_ = closed;
  }
  if (evicted > 0 && page != nullptr) page->evictions.fetch_add(evicted);
  if (evicted > 0) GANGWAY_POINT("evicted");
  if (!closed || page == nullptr) return false;
  if (page->gone.load() == std::uint64_t{epoch} + 1) return true;
  if (!page->nobody_inside() || !nothing_runs(*page)) return false;
  if (&gate_.permit() != &permit || permit.epoch.load() != epoch) return false;
  page->gone.store(std::uint64_t{epoch} + 1);
  GANGWAY_POINT("gone");
  return true;
}

// The lock is held.
void LaunchKeeper::rehearse(const PermitPage& permit) {
  if (permit.company.load() == 0) return;
  const std::int64_t now = monotonic_ns();
  if (now - rehearsed_ < kBetweenRehearsals) return;
  rehearsed_ = now;
  for (auto& [context, its] : books_)
    if (its->book != nullptr) its->book->rehearse();
}

// Once for each kernel, or for several at once.
void LaunchKeeper::tell_who_waits(Context& its, ClientPage& page) {
  const std::uint32_t all = its.book->kernels_that_wait();
  const std::string name = its.book->latest_that_waits();
  for (std::uint32_t c = 0; c < kLongestKernel; ++c)
    page.that_waits[c].store(c < name.size() && c + 1 < kLongestKernel ? name[c] : '\0');
  page.kernels_that_wait.fetch_add(all - std::exchange(its.that_wait, all));
  gate_.ring();
}

// Of launches in forms.
bool LaunchKeeper::some_may_run() {
  const std::lock_guard lock(mutex_);
  return std::any_of(books_.begin(), books_.end(), [](const auto& one) {
    return one.second->book != nullptr && !one.second->book->away().all();
  });
}

bool LaunchKeeper::nothing_runs(ClientPage& page) {
  for (bool asked = false;; asked = true) {
    bool some = false;
    for (std::uint32_t s = 0, n = page.streams_used(); s < n; ++s) {
      const StreamSlot& slot = page.stream[s];
      if (slot.outstanding() == 0) continue;
      const std::uint64_t handle = slot.stream.load();
      // The name of a thread's own stream remains when the thread ends.
      const bool per_thread = StreamName{handle, 0}.per_thread();
      const StreamName name{per_thread ? handle & ~Gate::kEnded : handle, slot.context.load()};
      if (name.handle == Gate::kDestroyed) {
        some = some || !held_.forgotten_stand_still();
        continue;
      }
      const bool own = !name.legacy() && !name.per_thread();  // its name is the handle
      some = some || !held_.stands_still(known({name.handle, own ? 0 : name.context}));
    }
    if (!some) return true;
    if (asked) return false;
    // While kernels are about to leave, the driver's answers would only delay the news of that.
    const std::int64_t now = monotonic_ns();
    if (some_may_run() && now - asked_ < kBetweenQuestions) return false;
    asked_ = now;
    gate_.look();
  }
}

}  // namespace gangway::live
