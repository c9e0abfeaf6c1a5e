#include "experiments/timelines/state_tracks.hpp"

#include <utility>

namespace gangway {
namespace {

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

int thread_of(const Record& record) { return static_cast<int>(record.job.client.index) + 1; }

bool is_of_program(Mark mark) {
  return mark == Mark::told_to_leave || mark == Mark::kernels_left || mark == Mark::kernels_go_on;
}
bool is_end_of_job(Mark mark) {
  return mark == Mark::finished || mark == Mark::killed || mark == Mark::program_ended;
}

nlohmann::ordered_json args_of(const Record& record, const Client& client) {
  nlohmann::ordered_json args{{"job", record.job.number}};
  if (record.kernel < client.kernels.size()) args["kernel"] = client.kernels[record.kernel].name;
  if (record.mark == Mark::kernels_left) args["kernels"] = record.amount;
  return args;
}

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
  if (is_of_program(record.mark)) track.leaves = true;
  if (track.leaves && track.state != KernelState::done && is_end_of_job(record.mark)) {
    close(track, record.time);
    track.state = KernelState::done;
  }
  if (track.native && !is_of_program(record.mark)) return;
  if (const auto state = state_after(record, track.state)) enter(track, *state, record);
}

void StateTracks::enter(Track& track, KernelState state, const Record& record) {
  close(track, record.time);
  track.state = state;
  track.since = record;
}

void StateTracks::close(Track& track, Time now) {
  const Record& since = track.since;
  if ((track.native && !track.leaves) || track.state == KernelState::done || now <= since.time) return;
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
         {"args", args_of(since, client)}});
}

void StateTracks::name(int thread, const std::string& kind, const std::string& name) {
  emit_({{"ph", "M"}, {"name", kind}, {"pid", process_}, {"tid", thread}, {"args", {{"name", name}}}});
}

}  // namespace gangway
