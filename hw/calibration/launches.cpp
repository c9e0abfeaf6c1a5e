#include "hw/calibration/launches.hpp"

#include <cmath>
#include <map>
#include <numbers>

#include "hw/calibration/bench.hpp"
#include "hw/calibration/measurements.hpp"
#include "hw/calibration/rounded.hpp"
#include "hw/executor.hpp"
#include "models/input/document.hpp"

namespace gangway {
namespace {

constexpr std::uint32_t kProbed = 0, kOther = 1;  // clients

// Covers [0, 1) evenly with any number of points, no two neighbours in a row.
double spread_evenly(int i, double offset) {
  const double x = offset + i / std::numbers::phi;
  return x - std::floor(x);
}

// When each job is to be evicted, from its first block on; none: never.
using Moments = std::vector<std::optional<Duration>>;

Moments moments_of(const CalibrationPlan& plan, double transformed) {
  Stream random(plan.seed, "played launches", {});
  const double offset = random.uniform();
  Moments moments;
  const int every = plan.evictions / std::max(plan.launches, 1) + 1;  // of these is whole
  for (int i = 0; i < plan.evictions; ++i) {
    if (i % every == 0) moments.push_back(std::nullopt);
    moments.push_back(rounded(transformed * 0.98 * spread_evenly(i, offset)));
  }
  return moments;
}

// Each launch of the probed kernel follows one of the other, as long as there are any.
class Prober : public Policy {
 public:
  Prober(Moments moments, std::size_t others)
      : moments_(std::move(moments)), left_{moments_.size(), others} {}

  Capabilities needs() const override { return {Capability::evict}; }

  void note(Time now, const Fact& fact, const View&) override {
    if (const auto* arrived = std::get_if<Arrived>(&fact)) waits_[arrived->job.client.index] = arrived->job;
    if (const auto* left = std::get_if<Left>(&fact)) {
      const std::uint32_t client = left->job.client.index;
      free_ = over_ = true;
      if (!left->job_over) waits_[client] = left->job;
      if (left->job_over) --left_[client];
    }
    if (const auto* started = std::get_if<Started>(&fact); started != nullptr && to_evict_)
      evict_at_ = now + *std::exchange(to_evict_, std::nullopt);
    if (std::holds_alternative<Timer>(fact)) evict_ = true;
  }

  void decide(Time, const View&, Orders& orders) override {
    if (std::exchange(over_, false)) {  // also where it ended before the moment
      if (timer_) orders.cancel(*std::exchange(timer_, std::nullopt));
      evict_ = false;
    }
    if (evict_at_) timer_ = orders.wake_at(*std::exchange(evict_at_, std::nullopt));
    if (std::exchange(evict_, false)) orders.evict(launch_);
    if (!free_) return;
    const std::uint32_t wanted = left_[next_] > 0 ? next_ : 1 - next_;
    if (!waits_[wanted]) return;  // it comes
    const JobId job = *std::exchange(waits_[wanted], std::nullopt);
    if (wanted == kProbed && job.number != evicted_) {
      to_evict_ = moments_[job.number];
      evicted_ = job.number;
    }
    launch_ = orders.launch(job, DeviceId{0}, std::nullopt);
    free_ = false;
    next_ = 1 - wanted;
  }

 private:
  Moments moments_;
  std::size_t left_[2];  // jobs that are not over, by client
  std::optional<JobId> waits_[2];
  std::uint32_t next_ = kOther;
  std::optional<std::uint32_t> evicted_;  // the last job that has had its turn to be
  std::optional<Duration> to_evict_;
  std::optional<Time> evict_at_;
  LaunchId launch_;
  std::optional<TimerId> timer_;
  bool evict_ = false, free_ = true, over_ = false;
};

// Readings of the probed kernel's launches.
class Reader : public TraceSink {
 public:
  Reader(Calibration& out, std::string mechanism, std::string kernel, BlockCount tasks, double transformed,
         const std::atomic<bool>& stop)
      : out_(out),
        mechanism_(std::move(mechanism)),
        kernel_(std::move(kernel)),
        tasks_(tasks),
        transformed_(transformed),
        stop_(stop) {}

  void record(const Record& r) override {
    if (r.job.client.index != kProbed) return;
    if (r.mark == Mark::launch_ordered) {
      times_.clear();
      first_ = r.amount;
    }
    times_[r.mark] = r.time;
    if (r.mark == Mark::left) tell(r.amount);
  }
  bool stopped() const override { return stop_; }

 private:
  void read(const char* quantity, std::int64_t parameter, Duration value) {
    out_.readings.push_back({quantity, mechanism_, kernel_, parameter, static_cast<double>(value.ns)});
  }
  void tell(std::int64_t done) {
    const Time started = times_.at(Mark::started), gone = times_.at(Mark::gone);
    read("launch after another", 0, started - times_.at(Mark::launch_ordered));
    const bool evicted = done < tasks_.count;
    read(evicted ? "pending work after an eviction" : "pending work of the whole", 0,
         times_.at(Mark::left) - gone);
    if (!evicted && first_ == 0) read("transformed after another", 0, gone - started);
    if (const auto ordered = times_.find(Mark::evict_ordered);
        !evicted && first_ == 0 && ordered != times_.end())
      read(kOrderTooLate, 0, ordered->second - started);
    if (!evicted && first_ > 0) read(kRestOfKernel, tasks_.count - first_, gone - started);
    if (!evicted) return;
    const Time ordered = times_.at(Mark::evict_ordered);
    const double work = transformed_ * static_cast<double>(done) / static_cast<double>(tasks_.count);
    read("eviction", 0, gone - ordered);
    read("eviction's order", 0, ordered - started);
    read("work after an eviction's order", 0,
         Duration{std::llround(work - static_cast<double>((ordered - started).ns))});
  }

  Calibration& out_;
  std::string mechanism_, kernel_;
  BlockCount tasks_;
  double transformed_;
  const std::atomic<bool>& stop_;
  std::map<Mark, Time> times_;  // of the launch so far
  std::int64_t first_ = 0;
};

}  // namespace

Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy) {
  const KernelEntry& code = Kernels::named("VA", "calibration", "code");
  const std::int64_t elements = entry.poll_probe != nullptr ? 1 << 25 : 1 << 16;
  const Node params =
      parse_yaml("{elements: " + std::to_string(elements) + ", per_thread: 32}", "another kernel");
  Client client;
  Kernel kernel;
  client.name = kernel.name = "another kernel";
  kernel.code = code.make(ParameterValues(code.parameters, Field(params, "")));
  kernel.block_tasks = kernel.code->block_tasks();
  kernel.block = kernel.code->block();
  kernel.time = Duration{100'000};
  client.copy_in = client.copy_out = Bytes{copy};
  client.kernels.push_back(std::move(kernel));
  return client;
}

Workload probed_kernel(const CalibrationPlan& plan, const std::string& name, const Kernel& kernel,
                       Duration time, Client other) {
  Client probed;
  probed.name = name;
  probed.kernels.push_back(kernel);
  Workload workload;
  workload.name = "calibration";
  workload.clients = {std::move(probed), std::move(other)};
  const std::size_t jobs =
      moments_of(plan, 0).size();  // each has the other before it, twice if it is evicted
  for (Client& client : workload.clients) client.arrive = Duration{0};
  workload.clients[kProbed].repeat = {static_cast<std::uint32_t>(jobs), std::nullopt, Duration{0}};
  // The other one comes when the device has rested after the probed one's end.
  workload.clients[kOther].repeat = {static_cast<std::uint32_t>(2 * jobs + 1), std::nullopt,
                                     time + rest_after(time)};
  return workload;
}

void play_launches(World& world, const CalibrationPlan& plan, const Workload& workload,
                   const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop) {
  const Client& probed = workload.clients[kProbed];
  Prober prober(moments_of(plan, transformed), *workload.clients[kOther].repeat.jobs);
  Reader reader(out, mechanism, probed.name, probed.kernels[0].block_tasks, transformed, stop);
  const std::uint32_t order[] = {kProbed, kOther};
  world.run(prober, {plan.seed, 0, 0}, order, reader);
  if (stop) throw RunError("interrupted");
}

void play_launches(const RealDeviceEntry& entry, const CalibrationPlan& plan, const Client& client,
                   std::uint32_t number, const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop) {
  const Kernel& kernel = client.kernels[number];
  const Workload workload =
      probed_kernel(plan, label(client, kernel), kernel, rounded(transformed), another_kernel(entry, 0));
  const MechanismEntry& known = Mechanisms::named(mechanism, "calibration", "mechanism");
  const auto costs = known.make(ParameterValues(known.parameters, std::nullopt));
  const WorldSetup setup{.workload = workload, .device = out.device, .mechanism = *costs};
  RealTimeWorld world(setup, entry.make(setup));
  play_launches(world, plan, workload, mechanism, transformed, out, stop);
}

}  // namespace gangway
