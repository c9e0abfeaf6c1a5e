#include "tests/sim/recorded/recorded_scenario.hpp"

#include <array>
#include <map>
#include <numeric>
#include <stdexcept>

#include "models/metrics/switch_meter.hpp"
#include "models/recording/file.hpp"
#include "models/recording/jobs.hpp"
#include "models/trace.hpp"
#include "sim/recorded/recorded_world.hpp"
#include "tests/scenario.hpp"
#include "tests/time_laws.hpp"

namespace gangway::testing {
namespace {

constexpr std::array kAccesses{"direct", "intercept", "deny", "sampled"};

class RecordedRecorder : public TraceSink, public JobSink {
 public:
  explicit RecordedRecorder(RecordedScenario& to)
      : to_(to), meter_(to.clients.size(), *this, to.device.gpus), switching_(to.device.gpus) {}
  void record(const Record& r) override {
    meter_.record(r);
    switching_.record(r);
    account_.record(r);
    last_ = r.time;
    if (r.mark == Mark::ended) return;
    if (r.mark == Mark::holds) to_.holds.push_back(r);
    const std::size_t client = r.job.client.index;
    if (r.mark == Mark::released) released_[r.job] = r.time;
    if (r.mark == Mark::finished)
      to_.jobs[client] += (to_.jobs[client].empty() ? "" : " ") + std::to_string(released_[r.job].ns) + "-" +
                          std::to_string(r.time.ns);
    const bool access = r.mark == Mark::access;
    const std::string line = std::to_string(r.time.ns) + " " + to_.clients[client].name + " " +
                             (access ? kAccesses[static_cast<std::size_t>(r.amount)] : name_of(r.mark));
    if (r.mark == Mark::on_host || r.mark == Mark::awaits_gpu) return to_.off_gpu.push_back(line);
    to_.lines.push_back(line);
    if (access) to_.accesses.push_back(line);
  }
  bool wants_off_gpu() const override { return true; }
  void job(const JobResult& result) override { to_.results.push_back(result); }
  void check_laws() const {
    const std::string broken = account_.broken_law(to_.results, meter_.totals(), to_.device);
    if (!broken.empty()) throw std::logic_error("a law of time is broken: " + broken);
    const RunTotals& totals = meter_.totals();
    const auto all = static_cast<double>((last_ - totals.first_release).ns * to_.device.gpus);
    if (all > 0 && switching_.share().value_or(0) + static_cast<double>(totals.executing.ns) / all > 1 + 1e-9)
      throw std::logic_error("a law of time is broken: switching while somebody has blocks on the GPU");
  }

 private:
  RecordedScenario& to_;
  RunMeter meter_;
  SwitchMeter switching_;
  TimeAccount account_;
  Time last_;
  std::map<JobId, Time> released_;
};

}  // namespace

RecordedScenario::RecordedScenario() {
  device.name = "made";
  device.arbitration = Arbitration::mps;
  device.sm = {2048, 32, 65536, Bytes{228 * 1024}};
}

void RecordedScenario::slice(std::int64_t length, std::int64_t context_switch, std::int64_t stop,
                             std::int64_t resume, std::int64_t renewal, std::int64_t linger) {
  device.arbitration = Arbitration::timeslice;
  device.time_slice = TimeSlice{Duration{length},
                                Duration{context_switch},
                                TimeSlice::Order::creation,
                                false,
                                Duration{stop},
                                Duration{resume},
                                Duration{renewal > 0 ? renewal : length},
                                Duration{linger}};
  device.time_slice->stop_full = device.time_slice->stop;
  device.time_slice->resume_full = device.time_slice->resume;
}

Client& RecordedScenario::client(const std::string& name, recording::Recording recording) {
  if (recording.jobs.empty()) recording::cut_jobs(recording, {});
  const auto file = folder_.path / (name + ".rec");
  recording::write_recording(recording, file, false);
  auto recorded = std::make_shared<Recorded>();
  recorded->file = file.string();
  recorded->program = std::make_shared<recording::PlayedProgram>(file);
  recorded->to = static_cast<recording::Index>(recorded->program->job_count());
  recorded_.push_back(recorded);
  Client& client = clients.emplace_back();
  client.name = name;
  client.recorded = recorded;
  client.repeat.jobs = recorded->to;
  client.frames_in_flight = UINT32_MAX;
  return client;
}

void RecordedScenario::paced(std::size_t client, const Repeat& repeat) {
  clients[client].repeat = repeat;
  clients[client].frames_in_flight = 1;
  recorded_[client]->own_pace = false;
}

void RecordedScenario::play(const std::string& policy) {
  const ChosenPolicy chosen = policy_from(policy);
  play(*chosen.entry->make(chosen.values));
}

void RecordedScenario::play(Policy& policy) {
  Workload workload;
  workload.name = "recorded";
  workload.clients = clients;
  const auto made = mechanism_from(mechanism);
  RecordedWorld world({.workload = workload,
                       .device = device,
                       .mechanism = *made,
                       .horizon = horizon,
                       .granting = granting,
                       .placing = placing,
                       .moves_memory = moves_memory});
  std::vector<std::uint32_t> order(clients.size());
  std::iota(order.begin(), order.end(), 0u);
  jobs.assign(clients.size(), {});
  lines.clear();
  accesses.clear();
  off_gpu.clear();
  results.clear();
  holds.clear();
  RecordedRecorder recorder(*this);
  world.run(policy, {}, order, recorder);
  recorder.check_laws();
}

LeavingKernel in_form(std::int64_t blocks, std::int64_t time, const std::string& form) {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = "k";
  kernel->block_tasks = {blocks};
  kernel->block = {32, 1, 1};
  kernel->time = Duration{time};
  return {kernel, mechanism_from(form)};
}

recording::Recording one_kernel(std::int64_t length) {
  MadeRecording m;
  const auto s = m.stream();
  m.awaited_kernel(s, 0, length);
  return m.r;
}

}  // namespace gangway::testing
