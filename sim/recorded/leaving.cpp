// Kernels of recorded programs that leave before their end. README.md is the definition.
#include <algorithm>

#include "models/mechanism.hpp"
#include "sim/recorded/gpu_streams.hpp"

namespace gangway {

using recording::PlayedWork;
using recording::StreamKind;

std::vector<std::optional<LeavingWaves>> waves_of(const Recorded& recorded, const Device& device) {
  std::vector<std::optional<LeavingWaves>> all(recorded.leaving.size());
  for (std::size_t l = 0; l < all.size(); ++l) {
    if (recorded.leaving[l].form == nullptr) continue;
    const Kernel& kernel = *recorded.leaving[l].kernel;
    const Mechanism& form = *recorded.leaving[l].form;
    LeavingWaves w;
    w.blocks = kernel.block_tasks.count;
    w.wave = std::clamp<std::int64_t>(resident_blocks(device, kernel), 1, w.blocks);
    w.waves = (w.blocks + w.wave - 1) / w.wave;
    w.claim_ps = form.delays(kernel, device).claim_ps;
    w.departure = device.access.departure;
    w.time = form.running_time(kernel, device);
    w.original = kernel.time;
    w.leaves = form.entry().needs == PreemptionLevel::block_task;
    w.sliced = recorded.leaving[l].sliced;
    all[l] = w;
  }
  return all;
}

std::optional<LeavingWaves::Leave> LeavingWaves::leave(Duration length, Duration progress) const {
  if (length.ns == 0) return std::nullopt;
  const std::int64_t done = mul_div_ceil(progress.ns, waves, length.ns);  // when the running wave is over
  if (done >= waves) return std::nullopt;
  const Duration end{mul_div_ceil(done, length.ns, waves)};
  const Duration until = end - progress + claims(blocks - done * wave) + departure;
  if (progress + until >= length) return std::nullopt;
  return Leave{until, length - end};
}

// Only what a job submits has a form: nobody would ask for the GPU for the rest of another kernel.
const LeavingWaves* GpuStreams::form_of(std::uint32_t client, const PlayedWork* work, JobId job) const {
  const auto& waves = clients_[client].waves;
  if (waves.empty() || work == nullptr || work->kind != recording::WorkKind::kernel ||
      job.number == UINT32_MAX || !waves[work->shape])
    return nullptr;
  const LeavingWaves& form = *waves[work->shape];
  return in_force(form) ? &form : nullptr;
}

Duration GpuStreams::length_of(const Stream& s, const Item& item) const {
  if (item.work->kind == recording::WorkKind::copy) return item.work->length;
  const Duration length = scaled_nearest(item.work->length, clients_[s.client].scale);
  const LeavingWaves* form = form_of(s, item);
  return form != nullptr && forms_ == Forms::leave ? form->length(length) : length;
}

void GpuStreams::raise_flag(JobId job, Time now) {
  ClientStreams& client = clients_[job.client.index];
  if (client.waves.empty()) return;
  client.flag = job;
  for (std::uint32_t s = client.first_stream; s < streams_.size() && streams_[s].client == job.client.index;
       ++s)
    if (streams_[s].phase == Phase::running && streams_[s].items.front().job == job && !streams_[s].rest)
      leave(s, now);
}

void GpuStreams::lower_flag(ClientId id, Time now) {
  ClientStreams& client = clients_[id.index];
  client.flag.reset();
  for (std::uint32_t s = client.first_stream; s < streams_.size() && streams_[s].client == id.index; ++s)
    if (streams_[s].phase == Phase::left) go_on(s, now);
}

// The kernel at the head runs and sees the flag.
void GpuStreams::leave(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  const LeavingWaves* form = form_of(s, s.items.front());
  if (form == nullptr) return;
  const Duration length = length_of(s, s.items.front());
  const auto leave = form->leave(length, length - s.left + (now - s.since));
  if (!leave) return;
  s.rest = leave->rest;
  s.left = leave->until;
  s.since = now;
  s.event = host_.due_at(stream, now + s.left);
}

// It has left. If the flag is down again by now, it goes on at once.
void GpuStreams::gone(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  set_running(s, false);
  s.left = *std::exchange(s.rest, std::nullopt);
  s.phase = Phase::left;
  set_ready(s, false);
  host_.left(ClientId{s.client});
  if (!clients_[s.client].flag) go_on(stream, now);
}

void GpuStreams::go_on(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  s.phase = Phase::ready;
  s.start = now;
  set_ready(s, true);
  if (turns_of(s).on(s.context)) run(stream, now);
}

// Its head has left or stands, or waits for a stream that stands still. Within an instant a head may wait for
// a place that has been passed.
bool GpuStreams::stands_still(const Stream& stream) const {
  const Stream* s = &stream;
  for (; s->phase == Phase::waiting; s = &streams_[s->items.front().place.stream])
    if (passed(s->items.front().place)) return false;
  return s->phase == Phase::left || s->phase == Phase::standing;
}

std::int64_t GpuStreams::on_device(ClientId id) const {
  const ClientStreams& client = clients_[id.index];
  std::int64_t works = client.outstanding;
  if (client.waves.empty() || works == 0) return works;
  for (std::size_t s = client.first_stream; s < streams_.size() && streams_[s].client == id.index; ++s)
    if (streams_[s].works > 0 && stands_still(streams_[s]))
      works -= static_cast<std::int64_t>(streams_[s].works);
  return works;
}

bool GpuStreams::holds(JobId job) const {
  const ClientStreams& client = clients_[job.client.index];
  if (client.waves.empty()) return false;
  for (std::size_t s = client.first_stream; s < streams_.size() && streams_[s].client == job.client.index;
       ++s) {
    const Stream& stream = streams_[s];
    const bool left = stream.phase == Phase::left || stream.rest;
    if (left || (forms_ == Forms::sliced && stream.in_form > 0))
      if (std::any_of(stream.items.begin(), stream.items.end(),
                      [&](const Item& item) { return item.job == job && (left || sliced(stream, item)); }))
        return true;
  }
  return false;
}

bool GpuStreams::full_behind_form(std::uint32_t stream) const {
  const Stream& s = streams_[stream];
  if (s.in_form == 0 || s.works <= kMostBehind) return false;
  std::size_t behind = s.works;
  for (const Item& item : s.items) {
    if (item.work == nullptr) continue;
    --behind;
    if (form_of(s, item) != nullptr) break;
  }
  return behind >= kMostBehind;
}

}  // namespace gangway
