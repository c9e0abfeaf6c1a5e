#include "experiments/timelines/chrome_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/timelines/timeline.hpp"
#include "experiments/timelines/trace_file.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string label(const Experiment& experiment, const Unit& unit) {
  return experiment.points[unit.point].policies[unit.policy].label;
}

Device device_of(const Experiment& experiment, const Unit& unit) {
  const Point point = experiment.points[unit.point];
  return point.device_of(point.policies[unit.policy]);
}

Workload workload_of(const Experiment& experiment, const Unit& unit) {
  const Point point = experiment.points[unit.point];
  return point.workload_of(point.policies[unit.policy]).draw(point.seed, unit.replication);
}

// What stands before the events. `timeline`: null before the run.
std::string head_of(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
                    const Timeline* timeline) {
  const Device& device = device_of(experiment, unit);
  Json other{{"experiment", experiment.name}, {"policy", label(experiment, unit)},
             {"point", unit.point},           {"replication", unit.replication},
             {"permutation", permutation},    {"layout", device.pool ? "pool" : "sm"},
             {"gpus", device.gpus},           {"sms", device.sms},
             {"threads", device.sm.threads}};
  if (timeline != nullptr) {
    if (const auto clock = timeline->uncertainty()) other["clock_uncertainty_ns"] = clock->ns;
    if (const auto full = timeline->full_at()) {
      other["full_at_ns"] = full->ns;
      other["left_out"] = "everything after that, because of the size limit (--trace-limit)";
    }
    if (timeline->spans_left_out() > 0) other["spans_of_blocks_left_out"] = timeline->spans_left_out();
  }
  return R"({"displayTimeUnit":"ms","otherData":)" + other.dump() + R"(,"traceEvents":[)";
}

}  // namespace

struct ChromeTrace::State {
  State(const Experiment& experiment, const Unit& unit)
      : workload(workload_of(experiment, unit)), gpus(device_of(experiment, unit).gpus) {}
  void begin(const fs::path& path, const std::string& head, std::uint64_t most) {
    file.emplace(path, head, most);
    timeline.emplace(workload, gpus, *file);
  }
  Workload workload;
  std::int64_t gpus;
  std::optional<TraceFile> file;
  std::optional<Timeline> timeline;
};

ChromeTrace::ChromeTrace(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
                         const fs::path& file, std::uint64_t most)
    : experiment_(experiment), unit_(unit), permutation_(permutation) {
  auto state = std::make_unique<State>(experiment, unit);
  const std::string head = head_of(experiment, unit, permutation, nullptr);
  if (most >= head.size() + 2 * TraceFile::kLongerHead + reserve_of(state->workload, state->gpus)) {
    state->begin(file, head, most);
    state_ = std::move(state);
  }
}

ChromeTrace::~ChromeTrace() = default;

void ChromeTrace::record(const Record& record) {
  if (state_) state_->timeline->record(record);
}
void ChromeTrace::blocks(const BlockSpan& span) {
  if (state_) state_->timeline->blocks(span);
}
void ChromeTrace::uncertain(Duration clock) {
  if (state_) state_->timeline->uncertain(clock);
}
bool ChromeTrace::stopped() const { return !state_ || state_->timeline->full_at(); }

TraceEnd ChromeTrace::finish() {
  if (!state_) return {};
  state_->file->write("\n]}\n");
  const std::string head = head_of(experiment_, unit_, permutation_, &*state_->timeline);
  return {true, state_->file->finish(head), state_->timeline->full_at()};
}

TraceEnd write_chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                            std::uint32_t permutation, const fs::path& file, std::uint64_t most,
                            const std::atomic<bool>& stop) {
  ChromeTrace trace(experiment, unit, permutation, file, most);
  if (trace.stopped() || !play_traced(experiment, world, unit, permutation, trace, stop)) return {};
  return trace.finish();
}

std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation) {
  return fmt::format("point-{}-{}-r{}-p{}.json.gz", unit.point, label(experiment, unit), unit.replication,
                     permutation);
}

}  // namespace gangway
