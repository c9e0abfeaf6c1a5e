#include "sim/recorded/gpu_streams.hpp"

#include <algorithm>

#include "models/nearest.hpp"

namespace gangway {

using recording::PlayedWork;
using recording::StreamKind;

namespace {

bool on_engine(const PlayedWork& work) { return work.to_device || work.to_host; }

}  // namespace

void GpuStreams::add_client(const Recorded& recorded) {
  const recording::PlayedProgram& program = *recorded.program;
  ClientStreams client;
  client.program = &program;
  client.scale = recorded.kernel_scale;
  client.waves = waves_of(recorded, device_);
  client.held = held_by(program, device_);
  client.needs = needs_of_works(program, device_);
  client.first_stream = static_cast<std::uint32_t>(streams_.size());
  client.first_context = static_cast<std::uint32_t>(contexts_.size());
  const auto number = static_cast<std::uint32_t>(clients_.size());
  for (std::uint32_t c = 0; c < program.contexts(); ++c)
    contexts_.push_back({number, client.first_stream, {}});
  for (const recording::PlayedStream& s : program.streams) {
    const std::uint32_t context = client.first_context + s.context;
    contexts_[context].streams.push_back(static_cast<std::uint32_t>(streams_.size()));
    Stream stream;
    stream.client = number;
    stream.context = context;
    stream.kind = s.kind;
    streams_.push_back(std::move(stream));
  }
  clients_.push_back(std::move(client));
}

void GpuStreams::reset(const std::vector<std::uint32_t>& gpus, Forms forms) {
  forms_ = forms;
  const auto count = static_cast<std::size_t>(device_.gpus);
  turns_.assign(count, TimeSlices(static_cast<std::uint32_t>(contexts_.size()), device_));
  engines_.assign(2 * count, {});
  shares_room_ = device_.arbitration == Arbitration::mps && clients_.size() > 1 && !any_form_in_force();
  rooms_.resize(count);
  for (SharedRoom& room : rooms_) room.reset(streams_.size(), clients_.size());
  for (std::size_t c = 0; c < clients_.size(); ++c) {
    ClientStreams& client = clients_[c];
    client.gpu = gpus[c];
    client.outstanding = 0;
    client.running = 0;
    client.was_busy = client.touched = client.wakes = false;
    client.flag.reset();
    client.current.reset();
  }
  for (Context& context : contexts_) {
    context.ready = 0;
    context.held = 0;
  }
  for (Stream& s : streams_) {
    s.items.clear();
    s.put = s.passed = s.works = 0;
    s.last_end = kNever;
    s.phase = Phase::empty;
    s.counted = false;
    s.began.reset();
    s.rest.reset();
    s.in_form = 0;
    s.done = s.until = 0;
    s.parts.clear();
    s.event = 0;
  }
  moved_.clear();
  touched_.clear();
  waking_.clear();
}

bool GpuStreams::any_form_in_force() const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const ClientStreams& c) {
    return std::any_of(c.waves.begin(), c.waves.end(),
                       [&](const std::optional<LeavingWaves>& form) { return form && in_force(*form); });
  });
}

// --- What is put into streams

void GpuStreams::order_by_null(std::uint32_t stream, Time now) {
  const Stream& s = streams_[stream];
  if (s.kind == StreamKind::non_blocking) return;
  for (const std::uint32_t other : contexts_[s.context].streams) {
    if (other == stream || streams_[other].items.empty()) continue;
    const StreamKind kind = streams_[other].kind;
    if (kind == StreamKind::null || (s.kind == StreamKind::null && kind == StreamKind::blocking))
      put_wait(stream, end_of(other), now);
  }
}

void GpuStreams::put_work(std::uint32_t stream, const PlayedWork& work, Time due, JobId job, Time now) {
  order_by_null(stream, now);
  Stream& s = streams_[stream];
  s.items.push_back({&work, due, job, {}});
  ++s.put;
  ++s.works;
  if (form_of(s, s.items.back()) != nullptr) ++s.in_form;
  ++clients_[s.client].outstanding;
  if (s.items.size() == 1) advance(stream, now);
}

void GpuStreams::put_wait(std::uint32_t stream, const Place& place, Time now) {
  if (place.stream == stream || passed(place)) return;
  Stream& s = streams_[stream];
  s.items.push_back({nullptr, {}, {}, place});
  ++s.put;
  if (s.items.size() == 1) advance(stream, now);
}

// --- The head of a stream

// Whether there is work at the head then.
bool GpuStreams::pass_waits(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  while (!s.items.empty() && s.items.front().work == nullptr) {
    if (!passed(s.items.front().place)) {
      if (!s.items.front().held_up) s.items.front().held_up = now;
      s.phase = Phase::waiting;
      return false;
    }
    if (s.items.front().held_up.value_or(now) < now) s.last_end = now;
    pop(stream, now);
  }
  if (s.items.empty()) s.phase = Phase::empty;
  return !s.items.empty();
}

// The head is new, or its time has come.
void GpuStreams::advance(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  if (s.phase == Phase::empty || s.phase == Phase::waiting) {
    if (!pass_waits(stream, now)) return set_ready(s, false);
    const Item& head = s.items.front();
    s.start = std::max(head.due, s.last_end + head.work->behind);
    s.left = length_of(s, head);
    s.phase = Phase::submitted;
    if (on_engine(*head.work) || head.due > now || sliced(s, head)) set_ready(s, false);
  }
  const Item& head = s.items.front();
  const bool copies = on_engine(*head.work);
  if (s.phase == Phase::submitted) {
    if (copies) {
      if (now < s.start) return void(s.event = host_.due_at(stream, s.start));
      return begin_copy(stream, now);
    }
    if (now < head.due) return void(s.event = host_.due_at(stream, head.due));
    if (sliced(s, head)) {
      if (now < s.start) return void(s.event = host_.due_at(stream, s.start));
      return stand(stream, now);
    }
    set_ready(s, true);
    s.phase = Phase::ready;
    if (now < s.start) return void(s.event = host_.due_at(stream, s.start));
  }
  if (s.phase == Phase::ready && now >= s.start && turns_of(s).on(s.context)) run(stream, now);
}

void GpuStreams::set_ready(Stream& s, bool ready) {
  if (s.counted == ready) return;
  s.counted = ready;
  Context& context = contexts_[s.context];
  context.ready += ready ? 1 : -1;
  turns_of(s).set_ready(s.context, context.ready > 0);
}

void GpuStreams::due(std::uint32_t stream, std::uint64_t event, Time now) {
  Stream& s = streams_[stream];
  if (s.event != event) return;
  s.event = 0;
  if (s.phase == Phase::running && s.rest)
    gone(stream, now);
  else if (s.phase == Phase::running && sliced(s, s.items.front()))
    slice_over(stream, now);
  else if (s.phase == Phase::running && !s.parts.empty())
    group_over(stream, now);
  else if (s.phase == Phase::running)
    over(stream, now);
  else
    advance(stream, now);
}

// --- Kernels

void GpuStreams::run(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  if (shares_room_ && needs_room(stream)) return;
  ClientStreams& client = clients_[s.client];
  s.phase = Phase::running;
  s.since = now;
  if (!s.began) s.began = now;
  s.event = host_.due_at(stream, now + s.left);
  set_running(s, true);
  if (client.flag == s.items.front().job && !s.rest) leave(stream, now);
}

// Whether what is at its head has to wait for its turn to have room; then it does.
bool GpuStreams::needs_room(std::uint32_t stream) {
  Stream& s = streams_[stream];
  s.parts = clients_[s.client].needs.of(*s.items.front().work, s.left);
  if (s.parts.empty()) return false;
  s.part = 0;
  s.phase = Phase::queued;
  room_of(s).join(stream, s.client, s.parts.front());
  return true;
}

void GpuStreams::group_begun(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  if (s.phase == Phase::queued) {
    s.phase = Phase::running;
    s.since = now;
    if (!s.began) s.began = now;
    set_running(s, true);
  }
  s.event = host_.due_at(stream, *room_of(s).next_end(stream));
}

void GpuStreams::group_over(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  const bool part_over = room_of(s).end_groups(stream, now);
  if (const auto next = room_of(s).next_end(stream)) {
    s.event = host_.due_at(stream, *next);
  } else if (part_over && ++s.part == s.parts.size()) {
    s.parts.clear();
    over(stream, now);
  } else {  // none of its blocks is there
    s.phase = Phase::queued;
    set_running(s, false);
    if (part_over) room_of(s).join(stream, s.client, s.parts[s.part]);
  }
}

void GpuStreams::stop(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  s.left = s.left + (s.since - now);
  s.event = 0;
  s.phase = Phase::ready;
  set_running(s, false);
}

// A kernel at its head begins to run, or no longer does.
void GpuStreams::set_running(Stream& s, bool running) {
  ClientStreams& client = clients_[s.client];
  Context& context = contexts_[s.context];
  const std::int64_t held = client.held.of(*s.items.front().work);
  context.held += running ? held : -held;
  client.running += running ? 1 : -1;
  turns_of(s).set_running(s.context, context.held);
  touch(s.client);
}

void GpuStreams::over(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  set_running(s, false);
  const JobId job = s.items.front().job;
  pop(stream, now);
  s.last_end = now;
  s.phase = Phase::empty;
  s.began.reset();
  host_.work_over(job);
  advance(stream, now);
}

// What is at the head is over.
void GpuStreams::pop(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  ClientStreams& client = clients_[s.client];
  if (s.items.front().work != nullptr) {
    --client.outstanding;
    --s.works;
    if (form_of(s, s.items.front()) != nullptr) --s.in_form;
  }
  s.items.pop_front();
  if (!s.items.empty() && s.items.front().work != nullptr && s.items.front().due < now)
    turns_of(s).was_queued(s.context, s.items.front().due);
  ++s.passed;
  moved_.push_back(stream);
}

void GpuStreams::touch(std::uint32_t client) {
  if (clients_[client].touched) return;
  clients_[client].touched = true;
  touched_.push_back(client);
}

// --- Copies

void GpuStreams::begin_copy(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  const std::uint32_t place = engine_of(s);
  settle_engine(place, now);
  Engine& engine = engines_[place];
  s.phase = Phase::copying;
  engine.copies.push_back({stream, s.left.ns * kShares});
  host_.copying(s.items.front().job, s.items.front().work->to_host, true);
  settle_engine(place, now);
}

// Accounts for the time since it was last looked at, and says when the next copy will be over. Clients share
// an engine evenly.
void GpuStreams::settle_engine(std::uint32_t place, Time now) {
  Engine& engine = engines_[place];
  if (engine.clients > 0) {
    const std::int64_t done = (now - engine.since).ns * (kShares / engine.clients);
    for (CopyUnderWay& copy : engine.copies) copy.left = std::max<std::int64_t>(0, copy.left - done);
  }
  engine.since = now;
  engine.clients = 0;
  for (std::size_t i = 0; i < engine.copies.size(); ++i) {
    const std::uint32_t client = streams_[engine.copies[i].stream].client;
    const bool seen =
        std::any_of(engine.copies.begin(), engine.copies.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const CopyUnderWay& other) { return streams_[other.stream].client == client; });
    engine.clients += seen ? 0 : 1;
  }
  engine.event = 0;
  if (engine.copies.empty()) return;
  std::int64_t least = INT64_MAX;
  for (const CopyUnderWay& copy : engine.copies) least = std::min(least, copy.left);
  const std::int64_t speed = kShares / engine.clients;
  engine.event = host_.copied_at(place, now + Duration{(least + speed - 1) / speed});
}

void GpuStreams::copied(std::uint32_t place, std::uint64_t event, Time now) {
  Engine& engine = engines_[place];
  if (engine.event != event) return;
  settle_engine(place, now);
  std::vector<std::uint32_t> done;
  for (const CopyUnderWay& copy : engine.copies)
    if (copy.left == 0) done.push_back(copy.stream);
  std::erase_if(engine.copies, [](const CopyUnderWay& copy) { return copy.left == 0; });
  settle_engine(place, now);
  for (const std::uint32_t stream : done) {
    Stream& s = streams_[stream];
    const JobId job = s.items.front().job;
    host_.copying(job, s.items.front().work->to_host, false);
    pop(stream, now);
    s.last_end = now;
    s.phase = Phase::empty;
    host_.work_over(job);
    advance(stream, now);
  }
}

// --- The end of an instant

bool GpuStreams::follow(Time now) {
  if (moved_.empty()) return false;
  while (!moved_.empty()) {
    const std::uint32_t stream = moved_.back();
    moved_.pop_back();
    const Stream& s = streams_[stream];
    turns_of(s).look();  // less is queued
    for (std::uint32_t other = clients_[s.client].first_stream; other < streams_.size(); ++other) {
      if (streams_[other].client != s.client) break;
      if (streams_[other].phase == Phase::waiting) advance(other, now);
    }
    if (!std::exchange(clients_[s.client].wakes, true)) waking_.push_back(s.client);
  }
  std::sort(waking_.begin(), waking_.end());
  for (const std::uint32_t c : std::exchange(waking_, {})) {
    clients_[c].wakes = false;
    host_.progressed(ClientId{c});
  }
  return true;
}

bool GpuStreams::settle(Time now) {
  bool any = false;
  for (std::uint32_t gpu = 0; gpu < turns_.size(); ++gpu)
    while (turns_[gpu].changed()) {
      const TimeSlices::Change change =
          turns_[gpu].settle(now, [&](std::uint32_t context, Time by) { return queued(context, by); });
      if (change.off)
        for (const std::uint32_t stream : contexts_[*change.off].streams)
          if (streams_[stream].phase == Phase::running) stop(stream, now);
      if (change.on)
        for (const std::uint32_t stream : contexts_[*change.on].streams)
          if (streams_[stream].phase == Phase::ready) advance(stream, now);
      if (change.look) host_.look_at(gpu, *change.look);
      any = true;
    }
  for (SharedRoom& room : rooms_)
    if (room.changed()) {
      room.give(now, [&](std::uint32_t stream) { group_begun(stream, now); });
      any = true;
    }
  tell_busy();
  return any;
}

// Whether work that was due by then is in the context behind the heads of its streams.
bool GpuStreams::queued(std::uint32_t context, Time by) const {
  const auto due = [&](const Item& item) { return item.work != nullptr && item.due <= by; };
  return std::any_of(contexts_[context].streams.begin(), contexts_[context].streams.end(),
                     [&](std::uint32_t stream) {
                       const std::deque<Item>& items = streams_[stream].items;
                       return !items.empty() && std::any_of(items.begin() + 1, items.end(), due);
                     });
}

void GpuStreams::tell_busy() {
  std::sort(touched_.begin(), touched_.end());
  for (const std::uint32_t c : std::exchange(touched_, {})) {
    ClientStreams& client = clients_[c];
    client.touched = false;
    const bool busy = client.running > 0;
    if (busy != std::exchange(client.was_busy, busy)) {
      if (busy)
        host_.busy(ClientId{c});
      else
        host_.quiet(ClientId{c});
    }
    host_.other_kernels(ClientId{c});
  }
}

bool GpuStreams::changed() const {
  return !moved_.empty() || !touched_.empty() ||
         std::any_of(turns_.begin(), turns_.end(), [](const TimeSlices& turns) { return turns.changed(); }) ||
         std::any_of(rooms_.begin(), rooms_.end(), [](const SharedRoom& room) { return room.changed(); });
}

void GpuStreams::end_copies(JobId job) {
  for (const Engine& engine : engines_)
    for (const CopyUnderWay& copy : engine.copies) {
      const Item& item = streams_[copy.stream].items.front();
      if (item.job == job) host_.copying(job, item.work->to_host, false);
    }
}

bool GpuStreams::awaits_turn(ClientId client) const {
  const TimeSlices& turns = turns_[clients_[client.index].gpu];
  for (std::size_t s = clients_[client.index].first_stream;
       s < streams_.size() && streams_[s].client == client.index; ++s) {
    const Stream& stream = streams_[s];
    if (stream.phase == Phase::left || stream.phase == Phase::standing || stream.phase == Phase::queued)
      return true;
    if (stream.phase == Phase::ready && !turns.on(stream.context)) return true;
  }
  return false;
}

bool GpuStreams::runs(JobId job) const {
  const std::uint32_t first = clients_[job.client.index].first_stream;
  for (std::size_t s = first; s < streams_.size() && streams_[s].client == job.client.index; ++s)
    if (streams_[s].phase == Phase::running && streams_[s].items.front().job == job) return true;
  return false;
}

std::optional<GpuStreams::Begun> GpuStreams::first_begun(ClientId client) const {
  std::optional<Begun> first;
  for (std::size_t s = clients_[client.index].first_stream;
       s < streams_.size() && streams_[s].client == client.index; ++s)
    if (const auto& began = streams_[s].began; began && (!first || *began < first->since))
      first = {*began, std::uint64_t{s} << 40 | streams_[s].passed};
  return first;
}

void GpuStreams::remove(ClientId client, Time now) {
  clients_[client.index].current.reset();
  for (std::uint32_t stream = clients_[client.index].first_stream;
       stream < streams_.size() && streams_[stream].client == client.index; ++stream) {
    Stream& s = streams_[stream];
    if (s.phase == Phase::running) stop(stream, now);
    if (s.phase == Phase::copying) {
      const std::uint32_t place = engine_of(s);
      settle_engine(place, now);
      std::erase_if(engines_[place].copies, [&](const CopyUnderWay& copy) { return copy.stream == stream; });
      settle_engine(place, now);
    }
    if (!s.parts.empty()) room_of(s).remove(stream);
    s.parts.clear();
    while (!s.items.empty()) pop(stream, now);
    s.phase = Phase::empty;
    s.began.reset();
    s.rest.reset();
    s.done = s.until = 0;
    s.event = 0;
    set_ready(s, false);
  }
}

}  // namespace gangway
