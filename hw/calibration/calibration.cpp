#include "hw/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "hw/calibration/polls.hpp"
#include "hw/calibration/rounded.hpp"
#include "hw/clock.hpp"
#include "hw/kernels/throttle.hpp"
#include "hw/mechanisms/real_mechanism.hpp"
#include "hw/real_time_refusals.hpp"
#include "models/fit/location.hpp"
#include "models/mechanism.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kLimit = 20_s;              // for anything single
constexpr Duration kProbeTime = 3'000'000_ns;  // throttle kernels last about this long
constexpr Duration kShort = 10_us;             // block-tasks that persistent blocks do not do in step
constexpr std::size_t kLeast = 10;             // readings of anything

// A throttle kernel whose block-tasks last about `length`.
Client probe(const Device& device, Duration length) {
  Kernel kernel;
  kernel.name = fmt::format("throttle-{}us", length.ns / 1000);
  kernel.block_tasks = {1};
  const std::int64_t resident = std::max<std::int64_t>(1, resident_blocks(device, kernel));
  kernel.block_tasks = {resident * std::max<std::int64_t>(4, kProbeTime.ns / length.ns)};
  kernel.time = {kernel.block_tasks.count * length.ns / resident};
  kernel.code = throttle_like(kernel, resident);
  Client client;
  client.name = kernel.name;
  client.kernels.push_back(std::move(kernel));
  return client;
}

std::string label(const Client& client, const Kernel& kernel) {
  return client.name == kernel.name ? kernel.name : client.name + "." + kernel.name;
}

// A device with some kernels, and how to time things on it.
class Bench {
 public:
  Bench(const RealDeviceEntry& entry, const Device& device, std::vector<Client> clients,
        const std::string& mechanism, std::uint64_t seed, Calibration& out, const std::atomic<bool>& stop)
      : out_(out),
        mechanism_(mechanism),
        stop_(stop),
        random_(seed, "calibration", {static_cast<std::uint32_t>(out.readings.size())}) {
    workload_.name = "calibration";
    workload_.clients = std::move(clients);
    device_ = device;
    const MechanismEntry& known = Mechanisms::named(mechanism, "calibration", "mechanism");
    cost_ = known.make(ParameterValues(known.parameters, std::nullopt));
    real_ = entry.make({.workload = workload_, .device = device_, .mechanism = *cost_});
  }
  ~Bench() {
    if (!real_->settle(kLimit)) static_cast<void>(real_.release());
  }

  RealDevice& device() { return *real_; }
  const Workload& workload() const { return workload_; }
  const Kernel& kernel(KernelIndex k) const { return workload_.clients[k.client].kernels[k.kernel]; }
  Stream& random() { return random_; }

  void read(const std::string& quantity, KernelIndex k, std::int64_t parameter, Duration value) {
    out_.readings.push_back({quantity, mechanism_, label(workload_.clients[k.client], kernel(k)), parameter,
                             static_cast<double>(value.ns)});
  }
  void read_copy(const std::string& quantity, std::int64_t bytes, Duration value) {
    out_.readings.push_back({quantity, mechanism_, "", bytes, static_cast<double>(value.ns)});
  }

  template <typename Condition>
  HostClock::Instant wait(Condition condition) {
    const auto began = HostClock::now();
    for (auto checked = began;;) {
      const bool over = condition();
      const auto now = HostClock::now();
      if (over) return now;
      real_->relax();
      if (now - checked < 1'000'000_ns) continue;
      checked = now;
      if (stop_) throw RunError("interrupted");
      if (const std::string fault = real_->fault(); !fault.empty()) throw RunError(fault);
      if (now - began > kLimit) throw RunError("a kernel did not end within " + to_text(kLimit));
    }
  }
  void pause(Duration length) {
    const auto until = HostClock::now() + length;
    while (HostClock::now() < until) pause_briefly();
  }

  struct Launched {
    HostClock::Instant ordered, started;
  };
  Launched launch(KernelIndex k, BlockCount first = {}) {
    Launched l;
    l.ordered = HostClock::now();
    real_->launches().launch(k, {first, kernel(k).block_tasks});
    l.started = wait([&] { return real_->launches().started(); });
    return l;
  }
  struct Over {
    HostClock::Instant gone, known;
    BlockCount done;
  };
  Over over() {
    Over o;
    o.gone = wait([&] { return real_->launches().gone(); });
    real_->launches().ask_pending_work();
    std::optional<BlockCount> done;
    o.known = wait([&] { return (done = real_->launches().pending_work()).has_value(); });
    o.done = *done;
    return o;
  }
  // The launch runs to its end. Nothing where the scheduler saw less of it than the device's own clock says:
  // another thread had its core.
  std::optional<Duration> whole(KernelIndex k) {
    const auto l = launch(k);
    return undisturbed(over().gone - l.started);
  }
  std::optional<Duration> original(KernelIndex k) {
    real_->probes().launch_original(k);
    const auto started = wait([&] { return real_->launches().started(); });
    return undisturbed(wait([&] { return real_->launches().gone(); }) - started);
  }
  std::optional<Duration> undisturbed(Duration seen) {
    if (seen.ns < real_->probes().device_time().ns / 10 * 9) return std::nullopt;
    return seen;
  }

 private:
  Calibration& out_;
  std::string mechanism_;
  const std::atomic<bool>& stop_;
  Stream random_;
  Workload workload_;
  Device device_;
  std::unique_ptr<Mechanism> cost_;
  std::unique_ptr<RealDevice> real_;
};

std::vector<double> values(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                           const std::string& kernel) {
  std::vector<double> out;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity && (mechanism.empty() || r.mechanism == mechanism) &&
        (kernel.empty() || r.kernel == kernel))
      out.push_back(r.value);
  return out;
}

void warm_up(Bench& bench, Duration length) {
  const auto began = HostClock::now();
  do bench.whole({0, 0});
  while (HostClock::now() - began < length);
}

// --- Kernels, each alone ---

// Registers are given out in eights, which is how the model counts them.
void describe_forms(Bench& bench, Calibration& c, std::size_t client, std::uint32_t number) {
  const auto forms = bench.device().probes().forms({0, number});
  if (!forms) return;
  Kernel& kernel = c.clients[client].kernels[number];
  c.forms.push_back({label(c.clients[client], kernel), kernel.block_tasks, kernel.threads(), *forms});
  kernel.registers = (forms->original.registers + 7) / 8 * 8;
  kernel.shared_memory = forms->original.shared_memory;
}

void measure_times(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  std::vector<double> original, transformed;
  for (int i = 0; i < plan.most; ++i) {  // in turns, so that slow changes of the clock meet both alike
    if (const auto time = bench.original(k)) {
      original.push_back(static_cast<double>(time->ns));
      bench.read("original", k, 0, *time);
    }
    if (const auto time = bench.whole(k)) {
      transformed.push_back(static_cast<double>(time->ns));
      bench.read("transformed", k, 0, *time);
      bench.read("transformed on the device clock", k, 0, bench.device().probes().device_time());
    }
    if (std::min(original.size(), transformed.size()) < kLeast) continue;
    if (median_settled(original, plan.settled) && median_settled(transformed, plan.settled)) return;
  }
  if (std::min(original.size(), transformed.size()) < kLeast)
    throw RunError("the scheduler's core is too busy with other things to time " +
                   bench.workload().clients[k.client].name);
}

void measure_block_tasks(Bench& bench, KernelIndex k) {
  bench.device().probes().observe(true);
  bench.whole(k);
  const auto observed = bench.device().probes().observed();
  bench.device().probes().observe(false);
  constexpr std::size_t kKept = 2000;  // of up to 100,000: enough for a distribution
  const std::size_t step = std::max<std::size_t>(1, observed.lengths.size() / kKept);
  for (std::size_t i = 0; i < observed.lengths.size(); i += step)
    bench.read("block-task", k, 0, observed.lengths[i]);
}

// Evictions at random moments: the delay, and how much of it was work.
void measure_evictions(Bench& bench, const CalibrationPlan& plan, KernelIndex k, double transformed) {
  const double tasks = static_cast<double>(bench.kernel(k).block_tasks.count);
  for (int i = 0; i < plan.evictions; ++i) {
    const auto l = bench.launch(k);
    bench.pause(rounded(transformed * (0.05 + 0.85 * bench.random().uniform())));
    const auto ordered = HostClock::now();
    bench.device().launches().evict();
    const auto o = bench.over();
    if (o.done == bench.kernel(k).block_tasks) continue;  // it had ended before
    bench.read("eviction", k, 0, o.gone - ordered);
    const double work = static_cast<double>(o.done.count) / tasks * transformed;
    bench.read("work after an eviction's order", k, 0,
               rounded(work - static_cast<double>((ordered - l.started).ns)));
  }
}

// --- Commands ---

void measure_commands(Bench& bench, const CalibrationPlan& plan, KernelIndex k) {
  for (int i = 0; i < plan.commands; ++i) {
    const auto l = bench.launch(k);
    bench.read("launch", k, 0, l.started - l.ordered);
    bench.pause(100'000_ns);
    bench.device().launches().evict();
    const auto o = bench.over();
    bench.read("pending work", k, 0, o.known - o.gone);
  }
}

// Evictions at random moments, and from each order on to the first block of the next launch. For block-tasks
// that blocks do not do in step, both also less the longest block-task that such launches do.
void measure_switches(Bench& bench, const CalibrationPlan& plan, KernelIndex k, Duration length) {
  const BlockCount all = bench.kernel(k).block_tasks;
  std::vector<Duration> evictions, switches;
  for (int i = 0; i < plan.commands; ++i) {
    bench.launch(k);
    bench.pause(rounded(2e5 + 1e6 * bench.random().uniform()));
    const auto ordered = HostClock::now();
    bench.device().launches().evict();
    const auto o = bench.over();
    if (o.done == all) continue;  // it had ended before
    const auto next = bench.launch(k, o.done);
    bench.device().launches().evict();
    bench.over();
    evictions.push_back(o.gone - ordered);
    switches.push_back(next.started - ordered);
    bench.read("eviction", k, length.ns, evictions.back());
    bench.read("evict order to next first block", k, length.ns, switches.back());
    bench.read("relaunch", k, length.ns, next.started - next.ordered);
  }
  std::vector<double> longest;
  bench.device().probes().observe(true);
  for (std::size_t i = 0; i < kLeast; ++i) {
    bench.launch(k);
    bench.pause(500'000_ns);
    bench.device().launches().evict();
    bench.over();
    const auto lengths = bench.device().probes().observed().lengths;
    if (lengths.empty()) continue;
    const Duration most = *std::max_element(lengths.begin(), lengths.end());
    longest.push_back(static_cast<double>(most.ns));
    bench.read("longest block-task", k, length.ns, most);
  }
  bench.device().probes().observe(false);
  if (length > kShort || longest.empty()) return;
  const auto beside = [&](Duration d) { return rounded(static_cast<double>(d.ns) - median(longest)); };
  for (std::size_t i = 0; i < evictions.size(); ++i) {
    bench.read("eviction beside its block-task", k, length.ns, beside(evictions[i]));
    bench.read("switch beside its block-task", k, length.ns, beside(switches[i]));
  }
}

// --- Copies ---

void measure_copies(Bench& bench, const CalibrationPlan& plan, const char* quantity,
                    CopyDirection direction) {
  for (std::int64_t size = 4096; size <= plan.largest_copy; size *= 4)
    for (std::size_t i = 0; i < kLeast + 5; ++i) {
      const auto began = HostClock::now();
      bench.device().copies().copy(direction, Bytes{size});
      const auto ended = bench.wait([&] { return bench.device().copies().copied(direction); });
      if (i >= 5) bench.read_copy(quantity, size, ended - began);
    }
}

// Weighted so that small copies, which fix the latency, count as much as large ones, which fix the bandwidth.
CopyEngine fit_copies(Calibration& c, const char* quantity) {
  std::vector<double> rows;
  std::vector<double> y;
  std::map<std::int64_t, std::vector<double>> by_size;
  for (const Reading& r : c.readings)
    if (r.quantity == quantity) by_size[r.parameter].push_back(r.value);
  for (const Reading& r : c.readings)
    if (r.quantity == quantity) {
      const double bytes = static_cast<double>(r.parameter), weight = 1 / median(by_size[r.parameter]);
      rows.insert(rows.end(), {weight, bytes * weight});
      y.push_back(r.value * weight);
    }
  const auto n = static_cast<Eigen::Index>(y.size());
  const Eigen::MatrixXd design =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 2, Eigen::RowMajor>>(rows.data(), n, 2);
  const LinearFit fit = fit_linear(design, Eigen::Map<const Eigen::VectorXd>(y.data(), n));
  c.lines.push_back({quantity, "ns = latency + bytes * ns per byte; residuals relative", fit});
  const double per_byte = std::max(fit.parameters[1].value, 1e-9);
  return {Bandwidth{std::max<std::int64_t>(1, std::llround(1e9 / per_byte))},
          rounded(fit.parameters[0].value)};
}

// --- Putting it together ---

double median_of(const Calibration& c, const std::string& quantity, const std::string& mechanism,
                 const std::string& kernel) {
  return median(values(c, quantity, mechanism, kernel));
}

// Eviction delay = what every eviction costs + slope * longest block-task.
void fit_evictions(Calibration& c, const std::string& mechanism) {
  std::vector<double> x, y;
  std::map<std::int64_t, std::vector<double>> longest;
  for (const Reading& r : c.readings)
    if (r.quantity == "longest block-task" && r.mechanism == mechanism)
      longest[r.parameter].push_back(r.value);
  for (const Reading& r : c.readings)
    if (r.quantity == "eviction" && r.mechanism == mechanism && r.parameter > 0 &&
        longest.count(r.parameter) > 0) {
      x.push_back(median(longest[r.parameter]));
      y.push_back(r.value);
    }
  if (x.empty()) return;
  c.lines.push_back(
      {"eviction by " + mechanism, "ns = intercept + slope * longest block-task in ns", fit_line(x, y)});
}

std::vector<double> beside_shortest(const Calibration& c, const std::string& mechanism) {
  std::int64_t shortest = kShort.ns;
  std::vector<double> out;
  for (const Reading& r : c.readings) {
    if (r.quantity != "eviction beside its block-task" || r.mechanism != mechanism || r.parameter > shortest)
      continue;
    if (r.parameter < shortest) out.clear();
    shortest = r.parameter;
    out.push_back(r.value);
  }
  if (out.size() < kLeast)
    throw RunError("too few evictions were seen: the scheduler's core is too busy with other things");
  return out;
}

void describe_kernels(Calibration& c, const std::string& mechanism, Duration seen) {
  std::vector<double> useful;
  for (Client& client : c.clients)
    for (Kernel& kernel : client.kernels) {
      const std::string name = label(client, kernel);
      const double original = median_of(c, "original", mechanism, name);
      const double transformed = median_of(c, "transformed", mechanism, name);
      kernel.time = rounded(original);
      // Rounded so that the file stays readable; 10^-5 is below any interval.
      kernel.transformation_overhead = std::round(transformed / original * 1e5) / 1e5;
      if (!(kernel.transformation_overhead >= 0.01 && kernel.transformation_overhead <= 100))
        throw RunError(
            fmt::format("{} took {} as it was and {} made preemptible: the scheduler's core is too busy "
                        "with other things",
                        name, to_text(rounded(original)), to_text(rounded(transformed))));
      // What the file said was a guess.
      kernel.eviction_delay.reset();
      kernel.useful.reset();
      kernel.block_task_length.reset();
      const auto delays = values(c, "eviction", mechanism, name);
      if (delays.empty()) continue;  // all block-tasks are claimed at once
      kernel.eviction_delay = rounded(median(delays));
      const double drain = static_cast<double>((*kernel.eviction_delay - seen).ns);
      const double work = median_of(c, "work after an eviction's order", mechanism, name);
      if (drain <= 0) continue;
      useful.push_back(std::clamp((work - static_cast<double>(seen.ns)) / drain, 0.0, 1.0));
      kernel.useful = std::round(useful.back() * 1000) / 1000;
    }
  if (!useful.empty()) c.useful = std::round(median(useful) * 1000) / 1000;
}

}  // namespace

CalibrationPlan usual_plan(std::vector<Client> clients, const RealDeviceEntry& device) {
  CalibrationPlan plan;
  plan.clients = std::move(clients);
  plan.lengths = {2_us, 5_us, 10_us, 20_us, 50_us, 100_us, 200_us};
  for (const std::string& name : mechanisms_of(device)) {
    if (Mechanisms::named(name, "calibration", "mechanism").needs != PreemptionLevel::block_task) continue;
    const RealMechanismEntry& half = RealMechanisms::named(name, "calibration", "mechanism");
    const bool known = std::any_of(plan.mechanisms.begin(), plan.mechanisms.end(), [&](const auto& other) {
      return device.same(half, RealMechanisms::named(other, "calibration", "mechanism"));
    });
    if (!known) plan.mechanisms.push_back(name);
  }
  const auto usual = std::find(plan.mechanisms.begin(), plan.mechanisms.end(), kUsualMechanism);
  if (usual != plan.mechanisms.end()) std::rotate(plan.mechanisms.begin(), usual, usual + 1);
  return plan;
}

Calibration calibrate(const RealDeviceEntry& entry, const CalibrationPlan& plan,
                      const std::function<void(const std::string&)>& progress,
                      const std::atomic<bool>& stop) {
  Calibration c;
  c.device = entry.describe();
  c.machine = entry.machine();
  c.clients = plan.clients;
  for (const std::string& mechanism : plan.mechanisms) {
    std::vector<Client> probes;
    for (const Duration length : plan.lengths) probes.push_back(probe(c.device, length));
    probes.front().copy_in = probes.front().copy_out = Bytes{plan.largest_copy};
    Bench bench(entry, c.device, probes, mechanism, plan.seed, c, stop);
    progress("warm-up, commands by " + mechanism);
    warm_up(bench, plan.warm_up);
    measure_commands(bench, plan, {0, 0});
    for (std::uint32_t i = 0; i < plan.lengths.size(); ++i) {
      progress(fmt::format("evictions by {}, block-tasks of {}", mechanism, to_text(plan.lengths[i])));
      measure_switches(bench, plan, {i, 0}, plan.lengths[i]);
    }
    fit_evictions(c, mechanism);
    if (mechanism != plan.mechanisms.front()) continue;
    progress("copies");
    measure_copies(bench, plan, "copy h2d", CopyDirection::to_device);
    measure_copies(bench, plan, "copy d2h", CopyDirection::to_host);
  }
  if (entry.poll_probe != nullptr) {
    progress("polls");
    measure_polls(*entry.poll_probe(), plan, c, stop);
    fit_polls(c);
  }
  const std::string& mechanism = plan.mechanisms.front();
  for (std::size_t number = 0; number < plan.clients.size(); ++number) {
    const Client& client = plan.clients[number];  // one at a time: only one problem's memory is needed
    Bench bench(entry, c.device, {client}, mechanism, plan.seed, c, stop);
    for (std::uint32_t k = 0; k < client.kernels.size(); ++k) {
      progress("kernel " + label(client, client.kernels[k]));
      describe_forms(bench, c, number, k);
      warm_up(bench, {plan.warm_up.ns / 5});
      measure_times(bench, plan, {0, k});
      measure_block_tasks(bench, {0, k});
      measure_evictions(bench, plan, {0, k},
                        median_of(c, "transformed", mechanism, label(client, client.kernels[k])));
    }
  }
  c.device.commands.launch = rounded(median_of(c, "launch", mechanism, ""));
  c.device.commands.pending_work = rounded(median_of(c, "pending work", mechanism, ""));
  // Blocks of long block-tasks keep in step, so that a random moment meets them half done on average; short
  // ones are spread, and somewhere one has just begun. What every eviction costs is seen at the shortest.
  c.device.commands.evict = rounded(median(beside_shortest(c, mechanism)));
  c.device.h2d = fit_copies(c, "copy h2d");
  c.device.d2h = fit_copies(c, "copy d2h");
  describe_kernels(c, mechanism, c.device.commands.evict);
  c.summaries = summaries_of(c.readings);
  return c;
}

std::vector<Summary> summaries_of(const std::vector<Reading>& readings) {
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, std::vector<double>> groups;
  for (const Reading& r : readings)
    groups[{r.quantity, r.mechanism, r.kernel, r.parameter}].push_back(r.value);
  std::vector<Summary> summaries;
  for (const auto& [key, values] : groups) {
    const auto& [quantity, mechanism, kernel, parameter] = key;
    summaries.push_back({{quantity, mechanism, kernel, parameter, 0},
                         values.size(),
                         median_interval(values),
                         nearest_rank(values, 0.99)});
  }
  return summaries;
}

}  // namespace gangway
