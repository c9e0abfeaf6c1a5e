// Recorded clients' host threads and jobs. README.md is the definition.
#include <algorithm>

#include "models/nearest.hpp"
#include "sim/recorded/recorded_world.hpp"

namespace gangway {

using recording::Index;
using recording::OrderKind;
using recording::PlayedOrder;
using recording::Segment;
using recording::Step;

namespace {

constexpr std::size_t kManyEvents = 256;

Duration scaled(Duration time, double factor) { return factor == 1 ? time : scaled_nearest(time, factor); }

}  // namespace

// --- Releases

void RecordedWorld::release(RecordedClient& client) {
  client.run.release(now_);
  if (client.own_pace) return;
  client.due.push_back(now_);
  std::optional<Index> played;
  const auto homes =
      std::count_if(client.threads.begin(), client.threads.end(), [](const HostThread& t) { return t.home; });
  for (const HostThread& thread : client.threads)
    if (thread.home && homes == 1) played = draw(client, thread, client.run.released() - 1);
  note_released(client, played);
  const auto any = [](const HostThread&) { return true; };
  if (HostThread* thread = longest(client, HostThread::Doing::release, any)) begin_job(client, *thread);
}

// Whoever is through with a job then is through with all.
bool RecordedWorld::none_to_begin(const RecordedClient& client) const {
  if (!client.own_pace) return client.run.over() && client.due.empty();
  const auto& leaves = client.run.client().leave;
  const bool late = client.run.released() > 0 && leaves && now_ >= Time{} + *leaves;
  return late || !client.run.has_release();
}

// Which of the program's jobs the thread plays next.
Index RecordedWorld::draw(const RecordedClient& client, const HostThread& thread,
                          std::uint32_t number) const {
  if (!client.recorded->drawn) return thread.jobs[number % thread.jobs.size()];
  Stream random(
      seed_.seed, "recorded job",
      {seed_.replication, seed_.permutation, client.run.id().index, index_of_thread(client, thread), number});
  return thread.jobs[random.below(thread.jobs.size())];
}

// --- From one job to the next

// The home thread is through with a job, or a run begins.
void RecordedWorld::take_next(RecordedClient& client, HostThread& thread) {
  const recording::PlayedProgram& program = *client.recorded->program;
  const bool first = thread.taken == 0;
  thread.doing = HostThread::Doing::nothing;
  const bool through = client.recorded->once && thread.taken == thread.jobs.size();
  if (!first && (through || none_to_begin(client))) return;
  const Index played = draw(client, thread, thread.taken);
  ++thread.taken;
  thread.segment = &program.segments[program.jobs[played].first_segment];
  thread.between = true;
  thread.step = first ? thread.segment->begin : thread.segment->before;
  thread.end = thread.segment->begin;
  if (first) return ready_for_job(client, thread);
  if (thread.step == thread.end) return lead(client, thread, now_);
  wait_until(client, thread, HostThread::Doing::gap,
             now_ + host_time(client, thread, program.steps[thread.step].gap));
}

void RecordedWorld::lead(RecordedClient& client, HostThread& thread, Time from) {
  wait_until(client, thread, HostThread::Doing::leading,
             from + scaled(client.own_pace ? thread.segment->lead : thread.segment->least_lead,
                           client.recorded->host_scale));
}

void RecordedWorld::ready_for_job(RecordedClient& client, HostThread& thread) {
  thread.between = false;
  if (client.own_pace) {
    thread.doing = HostThread::Doing::nothing;
    if (none_to_begin(client)) return exits(client);
    client.run.next_release();
    release(client);
    return begin_job(client, thread);
  }
  thread.doing = HostThread::Doing::release;
  thread.since = now_;
  if (client.run.begun() < client.run.released()) return begin_job(client, thread);
  if (controlled()) exits(client);
}

void RecordedWorld::begin_job(RecordedClient& client, HostThread& thread) {
  const recording::PlayedProgram& program = *client.recorded->program;
  client.run.begin();
  const JobId job = client.run.job();
  client.run.finish();  // the next one may begin beside it
  const Index played = thread.segment->job;
  Time released = now_;
  if (client.own_pace) {
    note_released(client, played);
  } else {
    released = client.due.front();
    client.due.pop_front();
  }
  const Index from = program.jobs[played].first_segment, to = program.jobs[played + 1].first_segment;
  const recording::JobKind kind = program.jobs[played].kind;
  client.open.push_back({job, played, to - from, 0, released,
                         kind == recording::JobKind::sync || kind == recording::JobKind::nvtx});
  begin_part(client, thread, *thread.segment, job, now_);
  for (Index s = from + 1; s < to; ++s) {
    HostThread& helper = client.threads[program.segments[s].timeline];
    helper.helps.push_back({&program.segments[s], job, now_});
    if (helper.doing == HostThread::Doing::nothing && !helper.home) part_over(client, helper);
  }
}

// Where several threads begin jobs, nobody knows which one a request will be: then the mean is its time
// alone.
void RecordedWorld::note_released(const RecordedClient& client, std::optional<Index> played) {
  const JobId job = client.run.last_released();
  note({.time = now_,
        .amount = (played ? client.recorded->alone(*played) : client.recorded->job).ns,
        .job = job,
        .priority = client.run.priority_of(job),
        .mark = Mark::released});
}

void RecordedWorld::begin_part(RecordedClient& client, HostThread& thread, const Segment& segment, JobId job,
                               Time job_began) {
  thread.segment = &segment;
  thread.job = job;
  thread.step = segment.begin;
  thread.end = segment.end;
  const double scale = client.recorded->host_scale;
  if (thread.step == thread.end)
    wait_until(client, thread, HostThread::Doing::trailing,
               now_ + scaled(segment.head + segment.tail, scale));
  else
    wait_until(client, thread, HostThread::Doing::gap,
               std::max(now_, job_began + scaled(segment.head, scale)));
}

// The thread is through with its part of a job; a helper that had none begins here, too.
void RecordedWorld::part_over(RecordedClient& client, HostThread& thread) {
  const bool had_part = thread.doing != HostThread::Doing::nothing;
  const JobId job = thread.job;
  thread.doing = HostThread::Doing::nothing;
  if (had_part) {
    PlayedRun* open = open_job(client, job);
    --open->parts;
    perhaps_finish(client, job);
  }
  if (thread.home) {
    take_next(client, thread);
    return exits(client);
  }
  if (thread.helps.empty()) return exits(client);
  const HostThread::Help next = thread.helps.front();
  thread.helps.pop_front();
  begin_part(client, thread, *next.segment, next.job, next.job_began);
}

PlayedRun* RecordedWorld::open_job(RecordedClient& client, JobId job) {
  for (PlayedRun& open : client.open)
    if (open.id == job) return &open;
  return nullptr;
}

void RecordedWorld::perhaps_finish(RecordedClient& client, JobId job) {
  PlayedRun* open = open_job(client, job);
  if (open == nullptr || open->parts > 0 || (!open->by_host && open->works > 0)) return;
  if (streams_.holds(job)) return;
  if (client.stay && client.stay->job == job) end_stay(client);
  streams_.end_copies(job);
  note({.time = now_, .job = job, .mark = Mark::finished});
  client.off_gpu.reset();
  std::erase_if(client.open, [&](const PlayedRun& run) { return run.id == job; });
  if (under_grants()) job_over(client, job);
  if (const auto due = client.run.after_finish(now_)) push(*due, kRelease, client.run.id().index);
  limits_may_end_ = under_grants() && setup_.granting.in_flight > 0;
}

// Whether the client's threads do nothing, or wait for jobs, and nothing of it is on the GPU.
bool RecordedWorld::none_under_way(const RecordedClient& client) const {
  const auto rests = [](const HostThread& thread) {
    return thread.doing == HostThread::Doing::nothing || thread.doing == HostThread::Doing::release;
  };
  return streams_.outstanding(client.run.id()) == 0 &&
         std::all_of(client.threads.begin(), client.threads.end(), rests);
}

// Whether a job of the client is there, or to come.
bool RecordedWorld::has_jobs(const RecordedClient& client) const {
  if (client.gone) return false;
  if (!client.open.empty() || client.run.begun() < client.run.released()) return true;
  if (!client.own_pace) return !client.run.over();
  return std::any_of(client.threads.begin(), client.threads.end(),
                     [](const HostThread& t) { return t.home && t.doing != HostThread::Doing::nothing; });
}

void RecordedWorld::exits(RecordedClient& client) {
  if (client.gone || has_jobs(client)) return;
  if (under_grants() && grants_->of(client.run.id()) != nullptr) return;  // its end is told first
  if (controlled() && !none_under_way(client)) return;
  client.leaves = moves_states_ && !states_.let_go(client.run.id());
  if (client.leaves) return;
  client.gone = true;
  if (controlled()) return close(client.run.id());
  if (!client.opened) return;
  grants_->exited(client.run.id());
  tell(Exited{client.run.id()});
}

// --- Calls

void RecordedWorld::wait_until(RecordedClient& client, HostThread& thread, HostThread::Doing doing,
                               Time time) {
  thread.doing = doing;
  thread.event = push(time, kHost, index_of_thread(client, thread));
}

// The thread's event has come.
void RecordedWorld::go_on(HostThread& thread, RecordedClient& client) {
  switch (thread.doing) {
    case HostThread::Doing::gap:
      return call(client, thread);
    case HostThread::Doing::leading:
      return thread.step == thread.end ? ready_for_job(client, thread) : lead(client, thread, now_);
    case HostThread::Doing::trailing:
      if (thread.between) return lead(client, thread, now_);
      return part_over(client, thread);
    case HostThread::Doing::trapped:
      thread.doing = HostThread::Doing::gate;
      return trap_over(index_of_thread(client, thread));
    case HostThread::Doing::nothing:
    case HostThread::Doing::gate:
    case HostThread::Doing::room:
    case HostThread::Doing::blocked:
    case HostThread::Doing::release:
      return;
  }
}

// Of a gap or a call's own time.
Duration RecordedWorld::host_time(const RecordedClient& client, HostThread& thread, Duration recorded) const {
  const Duration time = scaled(recorded, client.recorded->host_scale);
  const Duration slow = std::min(time, thread.slow);
  thread.slow = thread.slow - slow;
  return time - slow + scaled(slow, setup_.device.cooling.factor);
}

void RecordedWorld::cool(HostThread& thread, Duration waited) const {
  const HostCooling& cooling = setup_.device.cooling;
  if (waited <= cooling.after) return;
  thread.slow = std::max(thread.slow, std::min(cooling.most, scaled(waited - cooling.after, cooling.share)));
}

// A call begins, or goes on from the gate, or where there was no room.
void RecordedWorld::call(RecordedClient& client, HostThread& thread) {
  const recording::PlayedProgram& program = *client.recorded->program;
  const Step& step = program.steps[thread.step];
  thread.call_began = now_;
  thread.awaited.clear();
  const bool works = submits(client, thread);
  if (thread.doing == HostThread::Doing::gap) thread.came = now_;
  if (works && controlled() && traps_at_gate(client, thread)) return;
  if (thread.doing != HostThread::Doing::room && !may_submit(client, thread)) {
    thread.doing = HostThread::Doing::gate;
    thread.since = now_;
    return ask(client);
  }
  if (thread.doing == HostThread::Doing::gate) cool(thread, now_ - thread.came);
  if (works) {
    if (!has_room(client, thread)) {
      if (std::exchange(thread.doing, HostThread::Doing::room) != HostThread::Doing::room)
        thread.since = now_;
      return;
    }
    if (slices_ && !thread.between && !client.granted.asks) client.granted.ask_for(thread.job);
    submit(client, thread);
  }
  for (Index o = step.first_order; o < program.steps[thread.step + 1].first_order; ++o)
    order(client, program.orders[o], thread);
  thread.own = host_time(client, thread, step.own);
  if (works && !thread.between && is_limited(client)) thread.own += cost_of_limit();
  thread.wake = step.wake;
  std::erase_if(thread.awaited, [&](const GpuStreams::Place& place) { return streams_.passed(place); });
  if (step.waits && !thread.awaited.empty()) {
    thread.doing = HostThread::Doing::blocked;
    thread.since = now_;
    return;
  }
  call_ends(client, thread, std::max(now_, thread.call_began + thread.own));
}

bool RecordedWorld::has_room(const RecordedClient& client, const HostThread& thread) const {
  const recording::PlayedProgram& program = *client.recorded->program;
  const auto depth = program.depth();
  for (Index w = program.steps[thread.step].first_work; w < program.steps[thread.step + 1].first_work; ++w) {
    const std::uint32_t stream = streams_.stream_of(client.run.id(), program.works[w].stream);
    if ((depth && streams_.outstanding(stream) >= *depth) || streams_.full_behind_form(stream)) return false;
  }
  return true;
}

void RecordedWorld::submit(RecordedClient& client, HostThread& thread) {
  const recording::PlayedProgram& program = *client.recorded->program;
  const JobId job = thread.between ? JobId{client.run.id(), UINT32_MAX} : thread.job;
  const Duration own = program.steps[thread.step].own;
  const double scale = client.recorded->host_scale;
  if (moves_states_) states_.used(client.run.id());
  for (Index w = program.steps[thread.step].first_work; w < program.steps[thread.step + 1].first_work; ++w) {
    const recording::PlayedWork& work = program.works[w];
    const std::uint32_t stream = streams_.stream_of(client.run.id(), work.stream);
    const Duration within = std::min(work.launch, own);  // the host's: the call's own time until then
    streams_.put_work(stream, work, now_ + (work.launch - within) + scaled(within, scale), job, now_);
    if (PlayedRun* open = open_job(client, job)) ++open->works;
    if (work.host_waits) thread.awaited.push_back(streams_.end_of(stream));
  }
}

void RecordedWorld::order(RecordedClient& client, const PlayedOrder& order, HostThread& thread) {
  const ClientId id = client.run.id();
  const recording::PlayedProgram& program = *client.recorded->program;
  switch (order.kind) {
    case OrderKind::context:
      for (Index s = 0; s < program.streams.size(); ++s)
        if (program.streams[s].context == order.place)
          thread.awaited.push_back(streams_.end_of(streams_.stream_of(id, s)));
      return;
    case OrderKind::stream:
      return thread.awaited.push_back(streams_.end_of(streams_.stream_of(id, order.place)));
    case OrderKind::record: {
      const std::uint32_t stream = streams_.stream_of(id, order.place);
      streams_.order_by_null(stream, now_);
      if (client.events.size() >= kManyEvents) forget_events(client);
      client.events[program.steps[thread.step].call] = streams_.end_of(stream);
      return;
    }
    case OrderKind::event:
    case OrderKind::wait_event: {
      const auto event = client.events.find(order.recorded);
      if (event == client.events.end()) return;  // of another job, long over
      if (order.kind == OrderKind::event)
        thread.awaited.push_back(event->second);
      else
        streams_.put_wait(streams_.stream_of(id, order.place), event->second, now_);
      return;
    }
  }
}

// Those that are over are as good as none.
void RecordedWorld::forget_events(RecordedClient& client) {
  std::erase_if(client.events, [&](const auto& event) { return streams_.passed(event.second); });
}

// The thread's call ends then; what it does next is known.
void RecordedWorld::call_ends(RecordedClient& client, HostThread& thread, Time end) {
  const recording::PlayedProgram& program = *client.recorded->program;
  if (++thread.step < thread.end)
    return wait_until(client, thread, HostThread::Doing::gap,
                      end + host_time(client, thread, program.steps[thread.step].gap));
  if (thread.between) return lead(client, thread, end);
  wait_until(client, thread, HostThread::Doing::trailing,
             end + scaled(thread.segment->tail, client.recorded->host_scale));
}

// Of those that wait so, the one that has waited longest among those that may go on; then the first.
HostThread* RecordedWorld::longest(RecordedClient& client, HostThread::Doing doing,
                                   const std::function<bool(const HostThread&)>& may_go_on) {
  HostThread* found = nullptr;
  for (HostThread& thread : client.threads)
    if (thread.doing == doing && (found == nullptr || thread.since < found->since) && may_go_on(thread))
      found = &thread;
  return found;
}

// Something of the client's streams is over.
void RecordedWorld::progressed(ClientId id) {
  RecordedClient& client = clients_[id.index];
  const auto has_room_now = [&](const HostThread& thread) { return has_room(client, thread); };
  while (HostThread* thread = longest(client, HostThread::Doing::room, has_room_now)) call(client, *thread);
  for (HostThread& thread : client.threads) {
    if (thread.doing != HostThread::Doing::blocked) continue;
    std::erase_if(thread.awaited, [&](const GpuStreams::Place& place) { return streams_.passed(place); });
    if (!thread.awaited.empty()) continue;
    const Duration wake = thread.since < now_ ? thread.wake : Duration{};  // else it never had to wait
    call_ends(client, thread, std::max(thread.call_began + thread.own, now_ + wake));
  }
  if (controlled()) return stir(id);
  if (!under_grants()) return;
  call_at_gate(client);
  client.granted.look = true;
  if (streams_.outstanding(id) == 0) client.granted.idle_since = now_;
}

bool RecordedWorld::submits(const RecordedClient& client, const HostThread& thread) const {
  const recording::PlayedProgram& program = *client.recorded->program;
  return program.steps[thread.step].first_work < program.steps[thread.step + 1].first_work;
}

void RecordedWorld::work_over(JobId job) {
  RecordedClient& client = clients_[job.client.index];
  PlayedRun* open = open_job(client, job);
  if (open != nullptr) {
    --open->works;
    perhaps_finish(client, job);
  }
  if (open != nullptr || controlled()) exits(client);
}

}  // namespace gangway
