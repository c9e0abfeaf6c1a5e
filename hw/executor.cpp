#include "hw/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/random.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kLookAfter = 500_us;   // between looks at what need not be seen at once
constexpr Duration kTimeToClear = 2_s;    // for the device to get free after a failure
constexpr std::size_t kFewAlarms = 1024;  // no policy of ours keeps more than two
constexpr std::size_t kFullRecords = RealTimeWorld::kKeptRecords - 4096;  // room is left for an instant
constexpr std::size_t kMostAlarms = 1'000'000;
constexpr DeviceId kGpu{0};  // the one that there is

std::optional<Grants> grants_of(const WorldSetup& setup) {
  if (setup.granting.of == GrantOf::kernel) return std::nullopt;
  return Grants(setup.workload.clients.size(), 1);
}

}  // namespace

RealTimeWorld::RealTimeWorld(const WorldSetup& setup, std::unique_ptr<RealDevice> device,
                             std::unique_ptr<SchedulerClock> clock)
    : setup_(setup),
      device_(std::move(device)),
      clock_(std::move(clock)),
      book_(setup_),
      grants_(grants_of(setup_)),
      jobs_(setup_, book_, grants_ ? &*grants_ : nullptr, static_cast<JobStage&>(*this)),
      guard_(static_cast<Orders&>(*this), [this](const std::string& what) { return story(what); }) {
  const std::size_t count = setup_.workload.clients.size();
  releases_.resize(count);
  for (Engine& e : engines_) e.waiting.reserve(count);
  alarms_.reserve(kFewAlarms);
  facts_.reserve(4 * count + 64);
  delivering_.reserve(4 * count + 64);
  records_.reserve(kKeptRecords);
}

void RealTimeWorld::reset(const RunSeed& seed, std::span<const std::uint32_t> order) {
  book_.reset();
  for (Engine& e : engines_) {
    e.waiting.clear();
    e.busy = false;
  }
  told_late_ = {};
  alarms_.clear();
  facts_.clear();
  delivering_.clear();
  records_.clear();
  ordered_ = 0;
  history_.clear();
  now_ = before_ = before_before_ = noted_ = looked_after_ = stirred_ = {};
  lateness_ = {};
  timers_ = events_ = 0;
  active_jobs_ = 0;
  stopped_ = false;
  next_alarm_ = next_release_ = Time::max();
  std::fill(releases_.begin(), releases_.end(), Time::max());
  jobs_.begin(seed, order);
}

std::uint64_t RealTimeWorld::run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                                 TraceSink& trace) {
  if (!device_) throw RunError("the device was given up after a launch that did not end");
  guard_.begin(policy, setup_.watch, releases_.size());
  trace_ = &trace;
  reset(seed, order);
  try {
    warm_up();
    origin_ = clock_->now();
    guard_.seed({seed.seed, "policy", {seed.replication, seed.permutation}});
    guard_.tell_and_decide(now_, {}, view());  // before anything happens
    origin_ = clock_->now();
    const Duration had = clock_->processor_time();
    play();
    const Duration lasted = clock() - Time{};
    lateness_.add_thread(lasted, lasted - (clock_->processor_time() - had));
    if (!jobs_.free(kGpu) || engines_[0].busy || engines_[1].busy) abandon();  // at the horizon
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
  for (std::uint32_t c = 0; !warm_; c = (c + 1) % static_cast<std::uint32_t>(releases_.size())) {
    const std::vector<Kernel>& kernels = setup_.workload.clients[c].kernels;
    for (std::uint32_t k = 0; k < kernels.size(); ++k) {
      warm_ = enough();
      if (warm_) return;
      device_->launches().launch({c, k}, {{0}, kernels[k].block_tasks});
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
  return jobs_.free(kGpu) && next_release_ == Time::max() && !engines_[0].busy && !engines_[1].busy &&
         (active_jobs_ == 0 || alarms_.empty());
}

void RealTimeWorld::tell_and_decide() {
  sort_for_telling(facts_);
  events_ += facts_.size();
  delivering_.swap(facts_);
  guard_.tell_and_decide(now_, delivering_, view());
  delivering_.clear();
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
  if (jobs_.free(kGpu)) {
    const bool busy = engines_[0].busy || engines_[1].busy || next_release_ < Time::max();
    if (!busy && active_jobs_ > 0 && now_ - stirred_ > setup_.watchdog)
      stop(fmt::format("the policy has done nothing but set timers for {}, the watchdog's limit, while {} {}",
                       to_text(setup_.watchdog), active_jobs_,
                       active_jobs_ == 1 ? "job waits" : "jobs wait"));
    return;
  }
  const Launch& launch = jobs_.on(kGpu);
  if (now_ - launch.evict_ordered.value_or(launch.ordered) > setup_.watchdog)
    stop(fmt::format("kernel {} of {} {} after {}, the watchdog's limit", launch.kernel.index,
                     name(launch.kernel.job.client),
                     launch.evict_ordered ? "has not obeyed its eviction" : "is still on the device",
                     to_text(setup_.watchdog)));
}

void RealTimeWorld::abandon() noexcept {
  if (!device_) return;
  try {
    if (!jobs_.free(kGpu) && jobs_.on(kGpu).phase != Launch::Phase::gone) device_->launches().evict();
  } catch (...) {  // waiting is tried all the same
  }
  try {
    if (!device_->settle(kTimeToClear)) static_cast<void>(device_.release());  // see its contract
  } catch (...) {  // the device is broken, and why is being reported already
  }
  jobs_.abandon();
}

void RealTimeWorld::note(const Record& record) {
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

void RealTimeWorld::schedule(ClientId client, Time release) {
  releases_[client.index] = release;
  next_release_ = *std::min_element(releases_.begin(), releases_.end());
}

void RealTimeWorld::release_due() {
  stirred_ = now_;
  while (next_release_ <= now_) {  // in the order in which they were due, then by client
    const auto first = std::min_element(releases_.begin(), releases_.end());
    const ClientId client{static_cast<std::uint32_t>(first - releases_.begin())};
    const Time due = *first;
    lateness_.add(now_ - due);
    ++active_jobs_;
    ++events_;
    schedule(client, Time::max());
    jobs_.release(client, due, now_);
  }
}

bool RealTimeWorld::copy_in(JobId job) {
  return ask_for_copy(CopyDirection::to_device, {job, setup_.workload.clients[job.client.index].copy_in});
}

bool RealTimeWorld::copy_out(JobId job) {
  return ask_for_copy(CopyDirection::to_host, {job, setup_.workload.clients[job.client.index].copy_out});
}

bool RealTimeWorld::ask_for_copy(CopyDirection direction, const Copy& copy) {
  if (copy.size.count == 0) return false;
  engine(direction).waiting.push_back(copy);
  if (!engine(direction).busy) begin_copy(direction);
  return true;
}

void RealTimeWorld::begin_copy(CopyDirection direction) {
  Engine& e = engine(direction);
  e.busy = true;
  e.began = now_;
  note({.time = now_, .job = e.waiting.front().job, .mark = Mark::copy_begins, .direction = direction});
  device_->copies().copy(direction, e.waiting.front().size);
}

void RealTimeWorld::copied(CopyDirection direction) {
  Engine& e = engine(direction);
  const JobId job = e.waiting.front().job;
  e.waiting.erase(e.waiting.begin());
  e.busy = false;
  ++events_;
  note({.time = now_, .job = job, .mark = Mark::copy_ends, .direction = direction});
  if (!e.waiting.empty()) begin_copy(direction);
  if (direction == CopyDirection::to_device)
    jobs_.copied_in(job.client, now_);
  else
    jobs_.copied_out(job.client, now_);
}

// --- The device
// ------------------------------------------------------------------------------------------------------------

RealTimeWorld::Seen RealTimeWorld::look() {
  Seen seen;
  if (!jobs_.free(kGpu)) {
    const Launch::Phase phase = jobs_.on(kGpu).phase;
    seen.started = phase == Launch::Phase::ordered && device_->launches().started();
    seen.gone = (seen.started || phase == Launch::Phase::running) && device_->launches().gone();
    if (phase == Launch::Phase::gone) seen.done = device_->launches().pending_work();
  }
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host})
    seen.copied[direction == CopyDirection::to_device ? 0 : 1] =
        engine(direction).busy && device_->copies().copied(direction);
  return seen;
}

// When something happened that is seen now and was not at the last look; as the device says, or else the
// given time. What was noted meanwhile stays before it.
Time RealTimeWorld::happened(std::optional<HostClock::Instant> at, Time otherwise) {
  if (at) lateness_.add(now_ - since_origin(*at));
  const Time least = std::max(before_before_, noted_);
  return std::clamp(at ? since_origin(*at) + told_late_ : otherwise, least, now_);
}

void RealTimeWorld::handle(const Seen& seen) {
  stirred_ = now_;
  if (seen.started) {
    // A launch that began and ended since the last look did not do so in no time.
    const auto began = device_->launches().began();
    const Time started = happened(began, seen.gone ? Time{} : now_);
    if (began) told_late_ = started - since_origin(*began);  // and so is its end: its length is right
    jobs_.began(kGpu, started);
  }
  std::optional<BlockCount> done = seen.done;
  if (seen.gone) {
    const auto ended = device_->launches().ended();
    if (!ended) lateness_.add(now_ - before_before_);
    jobs_.ended(kGpu, happened(ended, now_));
    device_->launches().ask_pending_work();
    done = device_->launches().pending_work();
  }
  if (done) jobs_.report(kGpu, *done, now_);
  for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
    if (!seen.copied[direction == CopyDirection::to_device ? 0 : 1]) continue;
    lateness_.add(now_ - before_before_);
    copied(direction);
  }
}

void RealTimeWorld::place(const Launch& launch) {
  told_late_ = {};
  device_->launches().launch({launch.kernel.job.client.index, launch.kernel.index}, launch.range);
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

LaunchId RealTimeWorld::launch(JobId job, DeviceId device, std::optional<BlockRange> range) {
  if (device != kGpu) impossible(fmt::format("a launch on device {}, of 1", device.index));
  return jobs_.launch(job, device, range, now_);
}

TimerId RealTimeWorld::wake_at(Time time) {
  if (time < now_) impossible(fmt::format("a timer at {} ns, in the past", time.ns));
  if (alarms_.size() == kMostAlarms) impossible(fmt::format("more than {} timers at once", kMostAlarms));
  alarms_.push_back({time, TimerId{++timers_}});
  next_alarm_ = std::min(next_alarm_, time);
  return alarms_.back().id;
}

void RealTimeWorld::cancel(TimerId timer) {
  if (timer.value > timers_) impossible("the end of an unknown timer");
  std::erase_if(alarms_, [&](const Alarm& alarm) { return alarm.id == timer; });
}

void RealTimeWorld::fire_due() {
  next_alarm_ = Time::max();
  for (std::size_t i = 0; i < alarms_.size();) {
    if (alarms_[i].time <= now_) {
      lateness_.add(now_ - alarms_[i].time);
      facts_.push_back(Timer{alarms_[i].id});
      alarms_.erase(alarms_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      next_alarm_ = std::min(next_alarm_, alarms_[i].time);
      ++i;
    }
  }
}

}  // namespace gangway
