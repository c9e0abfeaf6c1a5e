#include "models/run/job_automaton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangway {
namespace {

constexpr std::uint32_t kMostFruitless = 100'000;

}  // namespace

JobAutomaton::JobAutomaton(const WorldSetup& setup, JobBook& book, Grants* grants, JobStage& stage)
    : workload_(setup.workload),
      idle_(setup.granting.idle),
      book_(book),
      grants_(grants),
      stage_(stage),
      launches_(static_cast<std::size_t>(setup.device.gpus)),
      idle_since_(launches_.size()),
      opened_(workload_.clients.size()) {
  exited_.reserve(workload_.clients.size());
  for (std::uint32_t c = 0; c < workload_.clients.size(); ++c) {
    clients_.emplace_back(setup, ClientId{c});
    standalone_.push_back(standalone_of(setup, workload_.clients[c]).ns);
  }
}

void JobAutomaton::begin(const RunSeed& seed, std::span<const std::uint32_t> order) {
  abandon();
  launched_ = 0;
  fruitless_ = 0;
  std::fill(opened_.begin(), opened_.end(), false);
  exited_.clear();
  if (grants_ != nullptr) grants_->reset();
  for (std::size_t position = 0; position < order.size(); ++position) {
    ClientRun& client = clients_[order[position]];
    client.reset(seed, first_release(workload_, client.client(), position));
  }
  // In client order, so that simultaneous releases are in client order too.
  for (ClientRun& client : clients_)
    if (const auto due = client.next_release()) stage_.release_at(client.id(), *due);
}

void JobAutomaton::abandon() { std::fill(launches_.begin(), launches_.end(), Launch{}); }

// --- Programs
// -----------------------------------------------------------------------------------------------------------

void JobAutomaton::release(ClientId id, Time due, Time now) {
  ClientRun& client = clients_[id.index];
  client.release(due);
  const JobId job = client.last_released();
  stage_.note_record({.time = due,
                      .amount = standalone_[id.index],
                      .job = job,
                      .priority = client.priority_of(job),
                      .mark = Mark::released});
  if (const auto next = client.next_release()) stage_.release_at(id, *next);
  if (!stage_.released_to_device(job)) begin_job(client, now);
}

void JobAutomaton::begin_job(ClientRun& client, Time now) {
  if (!client.begin()) return;
  if (!stage_.copy_in(client.job())) begin_kernels(client, now);
}

void JobAutomaton::copied_in(ClientId client, Time now) { begin_kernels(clients_[client.index], now); }

void JobAutomaton::begin_kernels(ClientRun& client, Time now) {
  const Duration gap = stage_.host_gap(client);
  if (gap > Duration{})
    stage_.resume_at(client.id(), now + gap);
  else
    eligible(client, true, now);
}

void JobAutomaton::eligible(ClientRun& client, bool arrives, Time now) {
  const JobId job = client.job();
  stage_.note_record({.time = now, .job = job, .kernel = client.kernel(), .mark = Mark::eligible});
  if (client.kernel() == 0) {
    book_.arrived(job, now, client.priority_of(job), client.released_at());
    if (!opened_[job.client.index]) {
      opened_[job.client.index] = true;
      tell(Opens{job.client, client.client().channels, client.client().weight});
    }
  }
  if (grants_ != nullptr)
    submit(client, now);
  else if (arrives)
    tell(Arrived{job});
}

// The job, whose next kernel is eligible, goes on if it holds a GPU; else the policy is told, if it does not
// know.
void JobAutomaton::submit(const ClientRun& client, Time now) {
  const JobId job = client.job();
  if (client.kernel() == 0) {
    JobFacts facts = book_.job(job);
    facts.kernels = {};
    facts.kernel = 0;
    grants_->arrived(facts, now);
    tell(Arrived{job});
  } else if (const Grant* grant = grants_->of(job.client)) {
    place_next(*grant, now);
  } else if (!grants_->waits(job)) {
    grants_->returned(job);
    tell(Arrived{job});
  }
}

// Of clients that are gone, the policy is told with the next fact, as they are no reason to decide anything.
void JobAutomaton::tell(const Fact& fact) {
  for (const ClientId client : exited_) stage_.tell_fact(Exited{client});
  exited_.clear();
  stage_.tell_fact(fact);
}

// When the host has passed the end of the last kernel and comes to the next.
Time JobAutomaton::free_host(const ClientRun& client, Time now) const {
  const Time free = std::max(now, stage_.host_free_at(client.id(), now));
  return client.kernels_left() ? free + stage_.host_gap(client) : free;
}

void JobAutomaton::host_free(ClientId client, Time now) { go_on(clients_[client.index], true, now); }

void JobAutomaton::settled(ClientId id, Time now) {
  ClientRun& client = clients_[id.index];
  if (const Time free = free_host(client, now); free > now)
    stage_.resume_at(id, free);
  else
    go_on(client, true, now);
}

// The host thread has passed the end of a kernel; `late`: some time after it.
void JobAutomaton::go_on(ClientRun& client, bool late, Time now) {
  if (client.kernels_left())
    eligible(client, late, now);
  else if (!stage_.copy_out(client.job()))
    finish_job(client, late, now);
}

void JobAutomaton::copied_out(ClientId client, Time now) { finish_job(clients_[client.index], true, now); }

// `late`: some time after its last kernel.
void JobAutomaton::finish_job(ClientRun& client, bool late, Time now) {
  stage_.finishing(client.job(), late);
  stage_.note_record({.time = now, .job = client.job(), .mark = Mark::finished});
  client.finish();
  if (const auto due = client.after_finish(now)) stage_.release_at(client.id(), *due);
  if (client.over()) exited_.push_back(client.id());
  begin_job(client, now);
}

void JobAutomaton::finished_on_device(JobId job, Time now) {
  stage_.note_record({.time = now, .job = job, .mark = Mark::finished});
  if (const auto due = clients_[job.client.index].after_finish(now)) stage_.release_at(job.client, *due);
}

// --- Orders
// -------------------------------------------------------------------------------------------------------------

std::string JobAutomaton::refusal(JobId job, DeviceId gpu, const std::optional<BlockRange>& range) const {
  if (grants_ != nullptr)
    return range ? "a launch of block-tasks under grants of whole jobs" : grants_->refusal(job, gpu);
  if (gpu.index >= launches_.size())
    return fmt::format("a launch on device {}, of {}", gpu.index, launches_.size());
  if (!free(gpu)) return "a launch while another kernel owns the GPU";
  return book_.refusal(job, gpu, range.value_or(book_.rest(job)));
}

LaunchId JobAutomaton::launch(JobId job, DeviceId gpu, const std::optional<BlockRange>& range, Time now) {
  if (const std::string why = refusal(job, gpu, range); !why.empty()) stage_.refuse_order(why);
  if (grants_ == nullptr) return place(job, gpu, range.value_or(book_.rest(job)), now);
  const Grant& grant = grants_->give(next_launch(), job, gpu);
  place_next(grant, now);
  return grant.id;
}

LaunchId JobAutomaton::place(JobId job, DeviceId gpu, BlockRange range, Time now) {
  book_.launched(job, range);
  Launch& launch = launches_[gpu.index];
  launch = {.id = next_launch(),
            .kernel = clients_[job.client.index].running(),
            .gpu = gpu,
            .range = range,
            .ordered = now};
  stage_.place(launch);
  stage_.note_record(of(launch, Mark::launch_ordered, now, range.first.count));
  return launch.id;
}

void JobAutomaton::place_next(const Grant& grant, Time now) {
  place(grant.job, grant.gpu, book_.rest(grant.job), now);
}

void JobAutomaton::evict(LaunchId id, Time now) {
  if (id.value > launched_) stage_.refuse_order("an eviction of an unknown launch");
  if (grants_ != nullptr) {
    Grant* grant = grants_->find(id);
    if (grant == nullptr || grant->revoked) return;
    grant->revoked = true;
    if (free(grant->gpu))
      end_grant(grant->gpu, Why::evicted, false);
    else
      displace(launches_[grant->gpu.index], now);
    return;
  }
  const auto found =
      std::find_if(launches_.begin(), launches_.end(), [&](const Launch& launch) { return launch.id == id; });
  if (id.value != 0 && found != launches_.end()) displace(*found, now);
}

void JobAutomaton::displace(Launch& launch, Time now) {
  if (launch.phase == Launch::Phase::gone || launch.evict_ordered) return;
  launch.evict_ordered = now;
  stage_.note_record(of(launch, Mark::evict_ordered, now));
  stage_.displace(launch);
}

// --- Launches
// -----------------------------------------------------------------------------------------------------------

void JobAutomaton::began(DeviceId gpu, Time at, bool noted) {
  Launch& launch = launches_[gpu.index];
  launch.phase = Launch::Phase::running;
  launch.began = at;
  if (!noted) stage_.note_record(of(launch, Mark::started, at));
  if (grants_ == nullptr) return tell(Started{launch.id, launch.kernel.job});
  Grant& grant = *grants_->on(gpu);
  if (std::exchange(grant.began, true)) return;
  tell(Started{grant.id, grant.job});
}

void JobAutomaton::ended(DeviceId gpu, Time at, BlockCount tasks) {
  Launch& launch = launches_[gpu.index];
  if (launch.phase == Launch::Phase::ordered) launch.began = at;  // evicted before any block ran
  launch.phase = Launch::Phase::gone;
  launch.ended = at;
  stage_.note_record(of(launch, Mark::gone, at, tasks.count));
}

void JobAutomaton::report(DeviceId gpu, BlockCount done, Time now) {
  const Launch launch = launches_[gpu.index];
  launches_[gpu.index] = {};
  const JobId job = launch.kernel.job;
  const BlockRange range = launch.range;
  if (done < range.first || done > range.last)
    stage_.stop_run(fmt::format("kernel {} of {} came back with {} block-tasks done of {} to {}",
                                launch.kernel.index, name(job), done.count, range.first.count,
                                range.last.count));
  ClientRun& client = clients_[job.client.index];
  const BlockCount in_all = book_.job(job).done + (done - range.first);
  const bool kernel_over = book_.left(job, range, done);
  if (kernel_over) client.next_kernel();
  const Why why = kernel_over ? Why::completed : done == range.last ? Why::budget : Why::evicted;
  Record left = of(launch, Mark::left, now, in_all.count);
  left.why = why;
  stage_.note_record(left);
  count_fruitless(done == range.first);
  const bool held_up = kernel_over && stage_.holds_up(job);
  const Time free = free_host(client, now);
  const bool later = kernel_over && (held_up || free > now);
  tell_left(launch, why, in_all, later, now);
  if (held_up)
    stage_.begin_to_settle(client.id());
  else if (later)
    stage_.resume_at(client.id(), free);
  else if (kernel_over)
    go_on(client, false, now);
  // Behind the host thread's coming back: a kernel that is eligible in the instant in which its grant would
  // end goes on.
  if (later && grants_ != nullptr && grants_->on(gpu) != nullptr) stage_.idle_at(gpu, now + idle_);
}

// A launch is over; `later`: the job goes on when its host thread has come to the next kernel.
void JobAutomaton::tell_left(const Launch& launch, Why why, BlockCount in_all, bool later, Time now) {
  const JobId job = launch.kernel.job;
  const Duration served = launch.ended - launch.began;
  const bool over = book_.job(job).finished();
  if (grants_ == nullptr) {
    const Duration in_all_served = book_.of(job).work.served += served;
    return tell(Left{launch.id, job, why, in_all, over || later, in_all_served});
  }
  Grant& grant = *grants_->on(launch.gpu);
  grant.served += served;
  idle_since_[launch.gpu.index] = now;
  if (over || grant.revoked) end_grant(launch.gpu, Why::evicted, !over && !later);
}

// `waits`: the job has a kernel that is eligible.
void JobAutomaton::end_grant(DeviceId gpu, Why why, bool waits) {
  const bool over = book_.job(grants_->on(gpu)->job).finished();
  tell(grants_->end(gpu, why, over, waits));
}

void JobAutomaton::idle(DeviceId gpu, Time now) {
  if (grants_->on(gpu) == nullptr || !free(gpu) || now - idle_since_[gpu.index] < idle_) return;
  end_grant(gpu, Why::idle, false);
}

void JobAutomaton::count_fruitless(bool none) {
  fruitless_ = none ? fruitless_ + 1 : 0;
  if (fruitless_ == kMostFruitless)
    stage_.stop_run(fmt::format(
        "no block-task was done in {} launches, as when a quantum is shorter than a block-task", fruitless_));
}

const std::string& JobAutomaton::name(JobId job) const { return workload_.clients[job.client.index].name; }

Record JobAutomaton::of(const Launch& launch, Mark mark, Time time, std::int64_t amount) const {
  return {.time = time,
          .launch = launch.id,
          .amount = amount,
          .job = launch.kernel.job,
          .kernel = launch.kernel.index,
          .mark = mark,
          .gpu = static_cast<std::uint8_t>(launch.gpu.index)};
}

}  // namespace gangway
