#include "experiments/timelines/state_tracks.hpp"

#include <utility>

namespace gangway {
namespace {

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

int thread_of(const Record& record) { return static_cast<int>(record.job.client.index) + 1; }

}  // namespace

StateTracks::StateTracks(const Workload& workload, int process, Emit emit)
    : workload_(&workload), process_(process), tracks_(workload.clients.size()), emit_(std::move(emit)) {
  for (std::size_t c = 0; c < tracks_.size(); ++c) tracks_[c].native = workload.clients[c].kernels.empty();
}

void StateTracks::record(const Record& record) {
  if (record.mark == Mark::ended) {
    for (Track& track : tracks_) close(track, record.time);
    return;
  }
  Track& track = tracks_[record.job.client.index];
  track.native = track.native || record.mark == Mark::issued || record.mark == Mark::submitted;
  if (track.native) return;
  if (const auto state = state_after(record, track.state)) enter(track, *state, record);
}

void StateTracks::enter(Track& track, KernelState state, const Record& record) {
  close(track, record.time);
  track.state = state;
  track.since = record;
}

void StateTracks::close(Track& track, Time now) {
  const Record& since = track.since;
  if (track.native || track.state == KernelState::done || now <= since.time) return;
  const Client& client = workload_->clients[since.job.client.index];
  const int thread = thread_of(since);
  if (!track.named) {
    if (!std::exchange(named_, true)) name(0, "process_name", "kernel states");
    name(thread, "thread_name", client.name);
    track.named = true;
  }
  emit_({{"ph", "X"},
         {"name", name_of(track.state)},
         {"pid", process_},
         {"tid", thread},
         {"ts", microseconds(since.time.ns)},
         {"dur", microseconds((now - since.time).ns)},
         {"args", {{"job", since.job.number}, {"kernel", client.kernels[since.kernel].name}}}});
}

void StateTracks::name(int thread, const std::string& kind, const std::string& name) {
  emit_({{"ph", "M"}, {"name", kind}, {"pid", process_}, {"tid", thread}, {"args", {{"name", name}}}});
}

}  // namespace gangway
