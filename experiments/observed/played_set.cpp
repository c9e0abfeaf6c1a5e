#include "experiments/observed/played_set.hpp"

#include <fmt/format.h>

#include "models/error.hpp"

namespace gangway {

SetClock::SetClock(const TaskSet& set) {
  if (set.unit == "s")
    scale_ = 1'000'000'000;
  else if (set.unit == "ms")
    scale_ = 1'000'000;
  else if (set.unit == "us")
    scale_ = 1'000;
  else if (set.unit == "ns")
    scale_ = 1;
  else
    throw InputError(set.place, "tasks", "times without a unit", "times with a unit");
}

void refuse_set(const WorldEntry& world, const std::string& key, const std::string& found,
                const std::string& expected) {
  throw InputError({"--world " + world.name, 0}, key, found, expected);
}

Device real_device_of(const WorldEntry& world) {
  return RealDevices::named(world.name, "world", "device").describe();
}

void ObservedRun::record(const Record& record) {
  judge_.record(record);
  if (record.mark != Mark::finished) return;
  ++jobs_;
  const std::uint32_t client = record.job.client.index;
  const Duration response = record.time - (Time{} + nominal_[client][record.job.number]);
  auto& held = largest_[client];
  if (!held || response > held->response) held = ObservedTask{response, {}, record.job.number};
}

void ObservedRun::add_to(ObservedResponses& out, const std::string& pattern) const {
  out.jobs += jobs_;
  for (std::size_t c = 0; c < largest_.size(); ++c) {
    if (!largest_[c] || (out.tasks[c] && out.tasks[c]->response >= largest_[c]->response)) continue;
    out.tasks[c] = largest_[c];
    out.tasks[c]->pattern = pattern;
  }
}

std::vector<std::vector<Duration>> release(Workload& workload, const ReleasedRun& run) {
  std::vector<std::vector<Duration>> nominal;
  for (std::size_t i = 0; i < workload.clients.size(); ++i) {
    Repeat& repeat = workload.clients[i].repeat;
    repeat.releases = run.tasks[i].actual;
    repeat.jobs = static_cast<std::uint32_t>(repeat.releases.size());
    nominal.push_back(run.tasks[i].nominal);
  }
  return nominal;
}

}  // namespace gangway
