#include "experiments/running/unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/metrics/departure_meter.hpp"
#include "models/random.hpp"
#include "models/run/job_book.hpp"
#include "models/run/policy_watch.hpp"

namespace gangway {
namespace {

// Collects a run's jobs and appends their rows, sorted, when the run is over.
class JobRows : public JobSink {
 public:
  JobRows(std::string key, const Workload& workload)
      : key_(std::move(key)), workload_(&workload), rank_(workload.clients.size()) {
    std::vector<std::uint32_t> order(rank_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return name(a) < name(b); });
    for (std::uint32_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  }

  void job(const JobResult& result) override { jobs_.push_back(result); }

  void run_over(std::uint32_t permutation) {
    std::sort(jobs_.begin(), jobs_.end(), [&](const JobResult& a, const JobResult& b) {
      return std::pair(rank_[a.id.client.index], a.id.number) <
             std::pair(rank_[b.id.client.index], b.id.number);
    });
    for (const JobResult& job : jobs_) append(job, permutation);
    jobs_.clear();
  }

  std::string take() { return std::move(rows_); }

 private:
  const std::string& name(std::uint32_t client) const { return workload_->clients[client].name; }

  void append(const JobResult& job, std::uint32_t permutation) {
    fmt::format_to(std::back_inserter(rows_), "{},{},{},{}", key_, permutation, name(job.id.client.index),
                   job.id.number);
    for (const JobMetric& metric : Metrics<JobMetric>::all()) {
      rows_ += ',';
      metric.append(rows_, job);
    }
    rows_ += '\n';
  }

  std::string key_;  // point, policy, swept values, replication
  const Workload* workload_;
  std::vector<std::uint32_t> rank_;  // of a client's name among all
  std::vector<JobResult> jobs_;
  std::string rows_;
};

class JobSinks : public JobSink {
 public:
  explicit JobSinks(std::initializer_list<JobSink*> sinks) : sinks_(sinks) {}  // null: nobody
  void job(const JobResult& result) override {
    for (JobSink* sink : sinks_)
      if (sink != nullptr) sink->job(result);
  }

 private:
  std::vector<JobSink*> sinks_;
};

struct Stopped {};

// Passes records on and ends a run in its middle, however long it is, when `stop` is set.
class StoppableSink : public TraceSink {
 public:
  StoppableSink(TraceSink& next, SwitchMeter& switching, const std::atomic<bool>& stop)
      : next_(next), switching_(switching), stop_(stop) {}
  void also(TraceSink* sink) { also_ = sink; }
  void count(SliceMeter* slices) { slices_ = slices; }
  void count(DepartureMeter* departures) { departures_ = departures; }
  void record(const Record& record) override {
    if (stopped()) throw Stopped{};
    next_.record(record);
    switching_.record(record);
    if (slices_ != nullptr) slices_->record(record);
    if (departures_ != nullptr) departures_->record(record);
    if (also_ != nullptr) also_->record(record);
  }
  void blocks(const BlockSpan& span) override {
    if (also_ != nullptr) also_->blocks(span);
  }
  bool wants_blocks() const override { return also_ != nullptr && also_->wants_blocks(); }
  bool wants_off_gpu() const override { return also_ != nullptr && also_->wants_off_gpu(); }
  void uncertain(Duration clock) override {
    next_.uncertain(clock);
    if (also_ != nullptr) also_->uncertain(clock);
  }
  void late(const Lateness& lateness) override { lateness_.add(lateness); }
  void remark(const std::string& line) override { remarks_.push_back(line); }
  bool stopped() const override { return stop_.load(std::memory_order_relaxed); }
  const Lateness& lateness() const { return lateness_; }
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  TraceSink& next_;
  SwitchMeter& switching_;
  Lateness lateness_;
  std::vector<std::string> remarks_;
  TraceSink* also_ = nullptr;
  SliceMeter* slices_ = nullptr;
  DepartureMeter* departures_ = nullptr;
  const std::atomic<bool>& stop_;
};

// A timeline's own run, which can be stopped from outside, too.
class TracedSink : public TraceSink {
 public:
  TracedSink(TraceSink& trace, const std::atomic<bool>& stop) : trace_(trace), stop_(stop) {}
  void record(const Record& record) override {
    if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
    trace_.record(record);
  }
  void blocks(const BlockSpan& span) override { trace_.blocks(span); }
  bool wants_blocks() const override { return trace_.wants_blocks(); }
  bool wants_off_gpu() const override { return trace_.wants_off_gpu(); }
  void uncertain(Duration clock) override { trace_.uncertain(clock); }
  bool stopped() const override { return stop_.load(std::memory_order_relaxed) || trace_.stopped(); }

 private:
  TraceSink& trace_;
  const std::atomic<bool>& stop_;
};

// Empty where there is one only.
std::string numbered_if(const char* what, std::uint32_t number, std::uint32_t of) {
  return of > 1 ? fmt::format(", {} {}", what, number) : std::string();
}

constexpr Duration kLeastPatience{1'000'000'000};  // with a policy's call, however short the watchdog is

// Everything a unit needs to play runs.
struct Stage {
  Stage(const Experiment& experiment, const Point& at, const WorldEntry& entry, const Unit& unit,
        const std::atomic<bool>& stop)
      : point(at),
        policy(point.policies[unit.policy]),
        workload(point.workload_of(policy).draw(point.seed, unit.replication)),
        mechanism(policy.mechanism.entry->make(policy.mechanism.values)),
        watch(std::max(experiment.watchdog, kLeastPatience), stop),
        setup{workload,
              point.device_of(policy),
              *mechanism,
              experiment.standalone_transformed,
              experiment.horizon ? Time{} + *experiment.horizon : Time::max(),
              experiment.watchdog,
              point.seed + unit.replication,
              experiment.by_block,
              &watch,
              policy.granting,
              policy.placing,
              experiment.takes_forms,
              experiment.counts_slices},
        world(entry.make(setup)) {}

  std::vector<ClientPace> paces_alone() const {
    const Capabilities needs = policy.entry->make(policy.values)->needs();
    const bool all_original = needs.has(Capability::native) || needs.has(Capability::access);
    std::vector<ClientPace> paces;
    for (const Client& client : workload.clients) {
      // What a mechanism makes of kernels is not played where it plays no part.
      const auto form = all_original || client.native ? CountedForm::original : CountedForm::standalone;
      const PaceAlone alone = pace_alone(setup, client, form);
      ClientPace pace{alone.between_finishes, client.repeat.is_scheduled(), client.jobs_in_flight(),
                      alone.idle};
      if (form == CountedForm::original && !client.recorded && !client.alone)
        pace.job = standalone_of(setup, client, form);
      paces.push_back(pace);
    }
    return paces;
  }

  std::uint64_t run(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
                    TraceSink& trace) {
    watch.call_it(fmt::format("point {}, policy {}, seed {}, replication {}, permutation {}", unit.point,
                              quote(policy.label), point.seed, unit.replication, permutation));
    try {
      const auto order = arrival_order(experiment, workload, point.seed, unit.replication, permutation);
      const auto fresh = policy.entry->make(policy.values);
      return world->run(*fresh, {point.seed, unit.replication, permutation}, order, trace);
    } catch (const InputError&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw RunError(watch.name() + ": " + error.what());
    }
  }

  const Point& point;
  const Contender& policy;
  Workload workload;
  std::unique_ptr<Mechanism> mechanism;
  WatchedRun watch;
  WorldSetup setup;
  std::unique_ptr<World> world;
};

}  // namespace

std::uint32_t permutation_count(const Experiment& experiment, const Point& point) {
  if (!experiment.all_permutations) return experiment.permutations;
  std::uint32_t count = 1;
  for (std::uint32_t n = 2; n <= point.workload->sample().clients.size(); ++n) count *= n;
  return count;
}

std::vector<std::uint32_t> arrival_order(const Experiment& experiment, const Workload& workload,
                                         std::uint64_t seed, std::uint32_t replication,
                                         std::uint32_t permutation) {
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!workload.arrivals || !workload.arrivals->permuted) return order;
  if (experiment.all_permutations) {  // the permutation's index in lexicographic order
    std::vector<std::uint32_t> rest = order;
    std::uint32_t index = permutation;
    std::uint32_t count = 1;
    for (std::uint32_t n = 2; n <= order.size(); ++n) count *= n;
    for (std::uint32_t& client : order) {
      count /= static_cast<std::uint32_t>(rest.size());
      client = rest[index / count];
      rest.erase(rest.begin() + index / count);
      index %= count;
    }
    return order;
  }
  Stream random(seed, "permutation", {replication, permutation});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::optional<UnitResult> play(const Experiment& experiment, const Point& point, const WorldEntry& world,
                               const Unit& unit, const std::atomic<bool>& stop, TraceSink* first) {
  Stage stage(experiment, point, world, unit, stop);
  if (world.measure_alone != nullptr && !world.measure_alone(stage.setup, stage.workload, stop))
    return std::nullopt;
  ReplicationMeter meter(stage.paces_alone(), experiment.sample_sigma);
  JobRows rows(fmt::format("{},{}{},{}", unit.point, stage.policy.label,
                           experiment.points.sweep().cells(unit.point), unit.replication),
               stage.workload);
  const std::int64_t gpus = stage.point.device_of(stage.policy).gpus;
  ServiceMeter services(stage.workload.clients, gpus);
  ServiceMeter* const counted = experiment.counts_services ? &services : nullptr;
  JobSinks jobs{&meter, counted, experiment.write_jobs ? &rows : nullptr};
  RunMeter run_meter(stage.workload.clients.size(), jobs, gpus);
  run_meter.tell(counted);
  SwitchMeter switching(gpus);
  StoppableSink records(run_meter, switching, stop);
  SliceMeter slices(stage.workload.clients.size());
  if (experiment.counts_slices) records.count(&slices);
  DepartureMeter departures(stage.workload.clients.size());
  const bool leaving = experiment.takes_forms && world.programs;
  if (leaving) records.count(&departures);
  UnitResult result;
  if (experiment.counts_evictions_by_gpu) result.evictions_by_gpu.resize(static_cast<std::size_t>(gpus));
  const std::uint32_t permutations = permutation_count(experiment, stage.point);
  for (std::uint32_t permutation = 0; permutation < permutations; ++permutation) {
    run_meter.reset();
    slices.reset();
    switching.reset();
    records.also(permutation == 0 ? first : nullptr);
    try {
      result.events += stage.run(experiment, unit, permutation, records);
    } catch (const Stopped&) {
      return std::nullopt;
    }
    meter.run_over(run_meter.totals());
    if (counted != nullptr) counted->run_over(run_meter.totals());
    for (std::uint32_t gpu = 0; gpu < result.evictions_by_gpu.size(); ++gpu)
      result.evictions_by_gpu[gpu] +=
          static_cast<double>(run_meter.evictions_from({gpu})) / static_cast<double>(permutations);
    rows.run_over(permutation);
    for (const std::string& remark : records.take_remarks())
      result.notes.push_back(
          fmt::format("point {} under {}{}{}: {}", unit.point, stage.policy.label,
                      numbered_if("replication", unit.replication, experiment.replications),
                      numbered_if("permutation", permutation, permutations), remark));
  }
  result.metrics = meter.metrics();
  result.responses = meter.responses();
  if (experiment.counts_slices) result.slices = slices.use();
  if (leaving) result.kernel_evictions = departures.per_run(permutations);
  if (counted != nullptr) result.services = counted->metrics();
  result.switching = switching.share();
  result.job_rows = rows.take();
  result.lateness = records.lateness();
  return result;
}

bool play_traced(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                 std::uint32_t permutation, TraceSink& trace, const std::atomic<bool>& stop) {
  TracedSink records(trace, stop);
  try {
    const Point point = experiment.points[unit.point];
    Stage(experiment, point, world, unit, stop).run(experiment, unit, permutation, records);
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

std::vector<JobField> job_fields(const Experiment& experiment) {
  using Kind = JobMetric::Kind;
  std::vector<JobField> fields{{"point", Kind::whole}, {"policy", Kind::text}};
  for (const std::string& column : experiment.points.sweep().column_names()) fields.push_back({column, {}});
  fields.insert(fields.end(), {{"replication", Kind::whole},
                               {"permutation", Kind::whole},
                               {"client", Kind::text},
                               {"job", Kind::whole}});
  for (const JobMetric& metric : Metrics<JobMetric>::all())
    fields.push_back({metric.about.name, metric.kind});
  return fields;
}

std::string job_columns(const Experiment& experiment) {
  std::string line;
  for (const JobField& field : job_fields(experiment))
    line += (line.empty() ? "" : ",") + csv_field(field.name);
  return line + "\n";
}

}  // namespace gangway
