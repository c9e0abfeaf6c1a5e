#include "experiments/running/scaled_alone.hpp"

#include <unordered_map>

#include "experiments/running/unmanaged_runs.hpp"

namespace gangway {
namespace {

// Takes what each job of the recording lasted. A release says as its standalone time which one is played.
class LengthsByJob : public TraceSink {
 public:
  explicit LengthsByJob(std::vector<Duration>& lengths) : lengths_(lengths) {}

  void record(const Record& record) override {
    if (record.mark == Mark::released) {
      open_[record.job.number] = {record.time, static_cast<std::size_t>(record.amount)};
    } else if (record.mark == Mark::finished) {
      const auto job = open_.find(record.job.number);
      lengths_[job->second.played] = record.time - job->second.began;
      open_.erase(job);
    }
  }

 private:
  struct Open {
    Time began;
    std::size_t played = 0;
  };
  std::vector<Duration>& lengths_;
  std::unordered_map<std::uint32_t, Open> open_;
};

// The client as it was recorded: nobody else there, and no releases but its own.
Client by_itself(const Client& client, std::shared_ptr<const Recorded> recorded) {
  Client alone;
  alone.name = client.name;
  alone.frames_in_flight = UINT32_MAX;
  alone.repeat.jobs = recorded->to - recorded->from;
  alone.recorded = std::move(recorded);
  return alone;
}

}  // namespace

std::shared_ptr<const Recorded> measured_alone(const Client& client, const Device& device) {
  if (client.recorded->kernel_scale == 1 && client.recorded->host_scale == 1) return client.recorded;
  auto marked = std::make_shared<Recorded>(*client.recorded);
  marked->once = true;
  marked->own_pace = true;
  marked->drawn = false;
  marked->scaled.clear();
  for (std::size_t j = 0; j < marked->program->job_count(); ++j)
    marked->scaled.push_back({static_cast<std::int64_t>(j)});

  Device own = device;
  own.gpus = 1;
  if (!own.time_slice || marked->program->contexts() == 1) own.arbitration = Arbitration::mps;  // no turns
  Workload workload;
  workload.clients.push_back(by_itself(client, marked));
  std::vector<Duration> lengths(marked->program->job_count());
  LengthsByJob sink(lengths);
  UnmanagedRuns(workload, own).play(1, sink);

  auto known = std::make_shared<Recorded>(*client.recorded);
  Duration all;
  for (recording::Index j = known->from; j < known->to; ++j) all += lengths[j];
  const Duration between = known->between_ends - known->job;
  known->job = {all.ns / static_cast<std::int64_t>(known->to - known->from)};
  known->between_ends = known->job + scaled_nearest(between, known->host_scale);
  known->scaled = std::move(lengths);
  return known;
}

}  // namespace gangway
