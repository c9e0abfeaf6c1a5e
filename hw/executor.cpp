#include "hw/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hw/protocol.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kLookAfter = 500_us;   // between looks at what need not be seen at once
constexpr Duration kTimeToClear = 2_s;    // for the device to get free after a failure
constexpr std::size_t kFewAlarms = 1024;  // no policy of ours keeps more than two
constexpr std::uint32_t kMostFruitless = 100'000;
constexpr std::size_t kFullRecords = RealTimeWorld::kKeptRecords - 4096;  // room is left for an instant
constexpr std::size_t kMostAlarms = 1'000'000;

}  // namespace

const WorldSetup& RealTimeWorld::checked(const WorldSetup& setup) {
  for (const Client& client : setup.workload.clients)
    for (const Kernel& kernel : client.kernels) {
      if (kernel.block_tasks.count >= kMostBlockTasks)
        throw InputError(kernel.origin, kernel.name, fmt::format("{} block-tasks", kernel.block_tasks.count),
                         fmt::format("fewer than {} in a world in real time", kMostBlockTasks));
      if (kernel.gap > Duration{})
        throw InputError(kernel.origin, kernel.name + ".gap", to_text(kernel.gap), "none, or the world sim");
      if (kernel.host_work > Duration{})
        throw InputError(kernel.origin, kernel.name + ".host_work", to_text(kernel.host_work),
                         "none, or the world sim");
    }
  return setup;
}

RealTimeWorld::RealTimeWorld(const WorldSetup& setup, std::unique_ptr<RealDevice> device,
                             std::unique_ptr<SchedulerClock> clock)
    : setup_(setup),
      device_(std::move(device)),
      clock_(std::move(clock)),
      book_(setup),
      guard_(static_cast<Orders&>(*this), [this](const std::string& what) { return story(what); }) {
  const std::size_t count = setup_.workload.clients.size();
  for (std::uint32_t c = 0; c < count; ++c) {
    const Client& client = setup_.workload.clients[c];
    clients_.emplace_back(setup_, ClientId{c});
    standalone_.push_back(standalone_of(setup_, client).ns);
  }
  releases_.resize(count);
  released_.reserve(count);
  for (Engine& e : engines_) e.waiting.reserve(count);
  alarms_.reserve(kFewAlarms);
  facts_.reserve(4 * count + 64);
  told_.reserve(4 * count + 64);
  records_.reserve(kKeptRecords);
}

void RealTimeWorld::reset(const RunSeed& seed, std::span<const std::uint32_t> order) {
  book_.reset();
  for (Engine& e : engines_) {
    e.waiting.clear();
    e.busy = false;
  }
  stay_ = {};
  alarms_.clear();
  facts_.clear();
  told_.clear();
  records_.clear();
  ordered_ = 0;
  history_.clear();
  now_ = before_ = before_before_ = noted_ = looked_after_ = stirred_ = {};
  lateness_ = {};
  launches_ = timers_ = events_ = 0;
  fruitless_ = 0;
  active_jobs_ = 0;
  stopped_ = false;
  next_alarm_ = next_release_ = Time::max();
  for (std::size_t position = 0; position < order.size(); ++position) {
    ClientRun& client = clients_[order[position]];
    client.reset(seed, first_release(setup_.workload, client.client(), position));
  }
  for (ClientRun& client : clients_) schedule(client.id(), client.next_release());
}

std::uint64_t RealTimeWorld::run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                                 TraceSink& trace) {
  if (!device_) throw RunError("the device was given up after a launch that did not end");
  guard_.begin(policy, setup_.watch, clients_.size());
  trace_ = &trace;
  reset(seed, order);
  try {
    warm_up();
    origin_ = clock_->now();
    guard_.seed({seed.seed, "policy", {seed.replication, seed.permutation}});
    guard_.tell_and_decide(now_, {}, book_);  // before anything happens
    origin_ = clock_->now();
    const Duration had = clock_->processor_time();
    play();
    const Duration lasted = clock() - Time{};
    lateness_.add_thread(lasted, lasted - (clock_->processor_time() - had));
    if (stay_.phase != Stay::free || engines_[0].busy || engines_[1].busy) abandon();  // at the horizon
    note({.time = now_, .mark = Mark::ended});
    flush();
    trace.late(lateness_);
  } catch (...) {
    abandon();
    throw;
  }
  return events_;
}

void RealTimeWorld::warm_up() {
  const auto began = clock_->now();
  const auto enough = [&] { return clock_->now() - began >= device_->warm_up() || trace_->stopped(); };
  for (std::uint32_t c = 0; !warm_; c = (c + 1) % static_cast<std::uint32_t>(clients_.size()))
    for (std::uint32_t k = 0; k < clients_[c].client().kernels.size(); ++k) {
      warm_ = enough();
      if (warm_) return;
      device_->launches().launch({c, k}, {{0}, clients_[c].client().kernels[k].block_tasks});
      for (auto looked = clock_->now(); !device_->launches().gone(); device_->relax()) {
        if (clock_->now() - looked < kLookAfter) continue;
        looked = clock_->now();
        if (enough()) device_->launches().evict();
        if (const std::string fault = device_->fault(); !fault.empty()) throw RunError(fault);
        if (looked - began > device_->warm_up() + setup_.watchdog)
          throw RunError(
              fmt::format("kernel {} of {} has not obeyed its eviction after {}, the watchdog's limit", k,
                          name(ClientId{c}), to_text(setup_.watchdog)));
      }
      device_->launches().ask_pending_work();
      while (!device_->launches().pending_work()) device_->relax();
    }
}

void RealTimeWorld::play() {
  while (!idle()) {
    const Seen seen = look();  // before the clock is read, so that nothing is told of before it happened
    before_before_ = std::exchange(before_, now_);
    if (!records_.empty()) noted_ = records_.back().time;
    now_ = clock();
    if (now_ > setup_.horizon) {
      now_ = setup_.horizon;
      return;
    }
    if (now_ >= next_release_) release_due();
    if (!seen.nothing()) handle(seen);
    if (now_ >= next_alarm_) fire_due();
    order_records();
    if (!facts_.empty())
      tell_and_decide();
    else
      device_->relax();
    if (now_ - looked_after_ > kLookAfter) look_after();
    if (stopped_) return;
    if (records_.size() > kFullRecords) flush();
  }
}

// Nothing is on the device and nothing will come; timers alone change nothing once all jobs are over.
bool RealTimeWorld::idle() const {
  return stay_.phase == Stay::free && next_release_ == Time::max() && !engines_[0].busy &&
         !engines_[1].busy && (active_jobs_ == 0 || alarms_.empty());
}

void RealTimeWorld::tell_and_decide() {
  sort_for_telling(facts_);
  events_ += facts_.size();
  told_.swap(facts_);
  guard_.tell_and_decide(now_, told_, book_);
  told_.clear();
  note({.time = now_, .amount = (clock() - now_).ns, .mark = Mark::decided});
}

void RealTimeWorld::look_after() {
  looked_after_ = now_;
  stopped_ = trace_->stopped();
  if (const std::string fault = device_->fault(); !fault.empty()) stop(fault);
  for (const Engine& e : engines_)
    if (e.busy && now_ - e.began > setup_.watchdog)
      stop(fmt::format("a copy of {} has not ended after {}, the watchdog's limit",
                       name(e.waiting.front().job.client), to_text(setup_.watchdog)));
  if (stay_.phase == Stay::free) {
    const bool busy = engines_[0].busy || engines_[1].busy || next_release_ < Time::max();
    if (!busy && active_jobs_ > 0 && now_ - stirred_ > setup_.watchdog)
      stop(fmt::format("the policy has done nothing but set timers for {}, the watchdog's limit, while {} {}",
                       to_text(setup_.watchdog), active_jobs_,
                       active_jobs_ == 1 ? "job waits" : "jobs wait"));
    return;
  }
  const Time since = stay_.evicting ? stay_.evict_ordered : stay_.ordered;
  if (now_ - since > setup_.watchdog)
    stop(fmt::format("kernel {} of {} {} after {}, the watchdog's limit", stay_.kernel.index,
                     name(stay_.kernel.job.client),
                     stay_.evicting ? "has not obeyed its eviction" : "is still on the device",
                     to_text(setup_.watchdog)));
}

void RealTimeWorld::abandon() noexcept {
  if (!device_) return;
  try {
    if (stay_.phase == Stay::launched || stay_.phase == Stay::started) device_->launches().evict();
  } catch (...) {  // waiting is tried all the same
  }
  try {
    if (!device_->settle(kTimeToClear)) static_cast<void>(device_.release());  // see its contract
  } catch (...) {  // the device is broken, and why is being reported already
  }
  stay_ = {};
}

void RealTimeWorld::note(Record record) {
  history_.add(record);
  if (records_.size() == kKeptRecords) flush();  // one instant has more than there is room for
  records_.push_back(record);
}

void RealTimeWorld::flush() {
  order_records();
  for (const Record& record : records_) trace_->record(record);
  if (!records_.empty()) noted_ = records_.back().time;
  records_.clear();
  ordered_ = 0;
}

// What a device told later than it happened goes where it belongs, behind the instant before.
void RealTimeWorld::order_records() {
  for (std::size_t i = ordered_ + 1; i < records_.size(); ++i)
    for (std::size_t j = i; j > ordered_ && records_[j].time < records_[j - 1].time; --j)
      std::swap(records_[j], records_[j - 1]);
  ordered_ = records_.size();
}

void RealTimeWorld::impossible(const std::string& what) const { stop("the policy ordered " + what); }
void RealTimeWorld::stop(const std::string& what) const { throw RunError(story(what)); }

// --- Clients
// ------------------------------------------------------------------------------------------------------------

void RealTimeWorld::schedule(ClientId client, std::optional<Time> release) {
  releases_[client.index] = release.value_or(Time::max());
  next_release_ = *std::min_element(releases_.begin(), releases_.end());
}

void RealTimeWorld::release_due() {
  released_.clear();
  stirred_ = now_;
  while (next_release_ <= now_) {  // in the order in which they were due, then by client
    const auto first = std::min_element(releases_.begin(), releases_.end());
    ClientRun& client = clients_[static_cast<std::size_t>(first - releases_.begin())];
    client.release();
    lateness_.add(now_ - *first);
    ++active_jobs_;
    ++events_;
    note({.time = *first,
          .amount = standalone_[client.id().index],
          .job = client.last_released(),
          .priority = client.priority_of(client.last_released()),
          .mark = Mark::released});
    schedule(client.id(), client.next_release());
    if (std::find(released_.begin(), released_.end(), client.id().index) == released_.end())
      released_.push_back(client.id().index);
  }
  for (const std::uint32_t client : released_) begin_job(clients_[client]);
}

void RealTimeWorld::begin_job(ClientRun& client) {
  if (!client.begin()) return;
  if (client.client().copy_in.count > 0)
    ask_for_copy(Direction::restore, {client.job(), client.client().copy_in});
  else
    eligible(client);
}

void RealTimeWorld::eligible(ClientRun& client) {
  const JobId job = client.job();
  note({.time = now_, .job = job, .kernel = client.kernel(), .mark = Mark::eligible});
  if (client.kernel() > 0) return;
  book_.arrived(job, now_, client.priority_of(job));
  tell(Arrived{job});
}

void RealTimeWorld::ask_for_copy(Direction direction, const Copy& copy) {
  engine(direction).waiting.push_back(copy);
  if (!engine(direction).busy) begin_copy(direction);
}

void RealTimeWorld::begin_copy(Direction direction) {
  Engine& e = engine(direction);
  e.busy = true;
  e.began = now_;
  note({.time = now_, .job = e.waiting.front().job, .mark = Mark::copy_begins, .direction = direction});
  device_->copies().copy(direction, e.waiting.front().size);
}

void RealTimeWorld::copied(Direction direction) {
  Engine& e = engine(direction);
  const JobId job = e.waiting.front().job;
  e.waiting.erase(e.waiting.begin());
  e.busy = false;
  ++events_;
  note({.time = now_, .job = job, .mark = Mark::copy_ends, .direction = direction});
  if (!e.waiting.empty()) begin_copy(direction);
  ClientRun& client = clients_[job.client.index];
  if (direction == Direction::restore)
    eligible(client);
  else
    finish_job(client);
}

void RealTimeWorld::finish_job(ClientRun& client) {
  note({.time = now_, .job = client.job(), .mark = Mark::finished});
  client.finish();
  --active_jobs_;
  if (const auto due = client.after_finish(now_)) schedule(client.id(), due);
  begin_job(client);
}

// --- The device
// ------------------------------------------------------------------------------------------------------------

RealTimeWorld::Seen RealTimeWorld::look() {
  Seen seen;
  seen.started = stay_.phase == Stay::launched && device_->launches().started();
  seen.gone = (seen.started || stay_.phase == Stay::started) && device_->launches().gone();
  if (stay_.phase == Stay::gone) seen.done = device_->launches().pending_work();
  for (const Direction direction : {Direction::restore, Direction::save})
    seen.copied[direction == Direction::restore ? 0 : 1] =
        engine(direction).busy && device_->copies().copied(direction);
  return seen;
}

// When something happened that is seen now and was not at the last look; as the device says, or else the
// given time. What was noted meanwhile stays before it.
Time RealTimeWorld::happened(std::optional<HostClock::Instant> at, Time otherwise) {
  if (at) lateness_.add(now_ - since_origin(*at));
  const Time least = std::max(before_before_, noted_);
  return std::clamp(at ? since_origin(*at) + stay_.told_late : otherwise, least, now_);
}

void RealTimeWorld::handle(const Seen& seen) {
  const auto record = [&](Mark mark, Time time) {
    note({.time = time,
          .launch = stay_.launch,
          .job = stay_.kernel.job,
          .kernel = stay_.kernel.index,
          .mark = mark});
  };
  stirred_ = now_;
  if (seen.started) {
    stay_.phase = Stay::started;
    // A launch that began and ended since the last look did not do so in no time.
    const auto began = device_->launches().began();
    const Time started = happened(began, seen.gone ? Time{} : now_);
    if (began) stay_.told_late = started - since_origin(*began);  // and so is its end: its length is right
    record(Mark::started, started);
    tell(Started{stay_.launch, stay_.kernel.job});
  }
  std::optional<BlockCount> done = seen.done;
  if (seen.gone) {
    stay_.phase = Stay::gone;
    const auto ended = device_->launches().ended();
    if (!ended) lateness_.add(now_ - before_before_);
    record(Mark::gone, happened(ended, now_));
    device_->launches().ask_pending_work();
    done = device_->launches().pending_work();
  }
  if (done) report(*done);
  for (const Direction direction : {Direction::restore, Direction::save}) {
    if (!seen.copied[direction == Direction::restore ? 0 : 1]) continue;
    lateness_.add(now_ - before_before_);
    copied(direction);
  }
}

void RealTimeWorld::report(BlockCount done) {
  const Stay stay = stay_;
  stay_ = {};
  if (done < stay.range.first || done > stay.range.last)
    stop(fmt::format("kernel {} of {} came back with {} block-tasks done of {} to {}", stay.kernel.index,
                     name(stay.kernel.job.client), done.count, stay.range.first.count,
                     stay.range.last.count));
  ClientRun& client = clients_[stay.kernel.job.client.index];
  JobFacts& facts = book_.of(stay.kernel.job);
  Why why = done == stay.range.last ? Why::budget : Why::evicted;
  facts.done = done;
  if (done == stay.kernel.block_tasks) {
    why = Why::completed;
    ++facts.kernel;
    facts.done = {};
    client.next_kernel();
  }
  const bool job_over = facts.finished();
  note({.time = now_,
        .launch = stay.launch,
        .amount = done.count,
        .job = stay.kernel.job,
        .kernel = stay.kernel.index,
        .mark = Mark::left,
        .why = why});
  fruitless_ = done == stay.range.first ? fruitless_ + 1 : 0;
  if (fruitless_ == kMostFruitless)
    stop(fmt::format("no block-task was done in {} launches, as when a quantum is shorter than a block-task",
                     fruitless_));
  tell(Left{stay.launch, stay.kernel.job, why, done, job_over});
  if (!job_over) {
    if (why == Why::completed) eligible(client);
  } else if (client.client().copy_out.count > 0) {
    ask_for_copy(Direction::save, {stay.kernel.job, client.client().copy_out});
  } else {
    finish_job(client);
  }
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

LaunchId RealTimeWorld::launch(JobId job, DeviceId device, BlockRange range) {
  if (device.index != 0) impossible(fmt::format("a launch on device {}, of 1", device.index));
  if (stay_.phase != Stay::free) impossible("a launch while another kernel owns the GPU");
  if (const std::string refusal = book_.refusal(job, range); !refusal.empty()) impossible(refusal);
  const RunningKernel kernel = clients_[job.client.index].running();
  stay_ = {LaunchId{++launches_}, kernel, range, now_, Stay::launched, {}, false, {}};
  note({.time = now_,
        .launch = stay_.launch,
        .amount = range.first.count,
        .job = job,
        .kernel = kernel.index,
        .mark = Mark::launch_ordered});
  device_->launches().launch({job.client.index, kernel.index}, range);
  return stay_.launch;
}

void RealTimeWorld::evict(LaunchId launch) {
  if (launch.value > launches_) impossible("an eviction of a launch that never was");
  if (stay_.launch != launch || stay_.evicting) return;
  if (stay_.phase != Stay::launched && stay_.phase != Stay::started) return;
  stay_.evicting = true;
  stay_.evict_ordered = now_;
  note({.time = now_,
        .launch = launch,
        .job = stay_.kernel.job,
        .kernel = stay_.kernel.index,
        .mark = Mark::evict_ordered});
  device_->launches().evict();
}

TimerId RealTimeWorld::wake_at(Time time) {
  if (time < now_) impossible(fmt::format("a timer at {} ns, in the past", time.ns));
  if (alarms_.size() == kMostAlarms) impossible(fmt::format("more than {} timers at once", kMostAlarms));
  alarms_.push_back({time, TimerId{++timers_}});
  next_alarm_ = std::min(next_alarm_, time);
  return alarms_.back().id;
}

void RealTimeWorld::cancel(TimerId timer) {
  if (timer.value > timers_) impossible("the end of a timer that never was");
  std::erase_if(alarms_, [&](const Alarm& alarm) { return alarm.id == timer; });
}

void RealTimeWorld::fire_due() {
  next_alarm_ = Time::max();
  for (std::size_t i = 0; i < alarms_.size();) {
    if (alarms_[i].time <= now_) {
      lateness_.add(now_ - alarms_[i].time);
      tell(Timer{alarms_[i].id});
      alarms_.erase(alarms_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      next_alarm_ = std::min(next_alarm_, alarms_[i].time);
      ++i;
    }
  }
}

}  // namespace gangway
