// How much of a simulation's time its policy takes: experiments are played with policies that say when they
// are at work, and a clock of the process's own time looks now and then. Prints a JSON line for each
// experiment and policy.
#include <fmt/format.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <memory>

#include "experiments/running/unit.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/run/refusing_orders.hpp"

namespace {

using namespace gangway;

constexpr double kLeastSeconds = 1;  // of each policy in each experiment
constexpr suseconds_t kLookEvery = 1'000;

volatile std::sig_atomic_t at_work = 0, looks = 0, seen_at_work = 0;

void look(int) {
  looks = looks + 1;
  seen_at_work = seen_at_work + at_work;
}

// What a policy's orders cause is the world's work.
class WorldsWork {
 public:
  WorldsWork() { at_work = 0; }
  ~WorldsWork() { at_work = 1; }
  WorldsWork(const WorldsWork&) = delete;
  WorldsWork& operator=(const WorldsWork&) = delete;
};

template <typename Order>
auto world(Order order) {
  const WorldsWork now;
  return order();
}

class PassedOn : public Orders {
 public:
  explicit PassedOn(Orders& orders) : orders_(orders) {}
  LaunchId launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) override {
    return world([&] { return orders_.launch(job, gpu, range); });
  }
  void evict(LaunchId launch) override {
    world([&] { orders_.evict(launch); });
  }
  void kill(ClientId client) override {
    world([&] { orders_.kill(client); });
  }
  void restore(JobId job, DeviceId gpu, BlockRange blocks) override {
    world([&] { orders_.restore(job, gpu, blocks); });
  }
  void save(JobId job, DeviceId gpu) override {
    world([&] { orders_.save(job, gpu); });
  }
  void access(ClientId client, Access access) override {
    world([&] { orders_.access(client, access); });
  }
  void admit(RequestId request) override {
    world([&] { orders_.admit(request); });
  }
  void grant(ClientId client, std::int64_t channels) override {
    world([&] { orders_.grant(client, channels); });
  }
  void drain(ClientId client) override {
    world([&] { orders_.drain(client); });
  }
  void sample(ClientId client, Duration span, std::int64_t requests) override {
    world([&] { orders_.sample(client, span, requests); });
  }
  void watch(Duration limit) override {
    world([&] { orders_.watch(limit); });
  }
  TimerId wake_at(Time time) override {
    return world([&] { return orders_.wake_at(time); });
  }
  void cancel(TimerId timer) override {
    world([&] { orders_.cancel(timer); });
  }

 private:
  Orders& orders_;
};

class Watched : public Policy {
 public:
  explicit Watched(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}
  Capabilities needs() const override { return policy_->needs(); }
  bool several_gpus() const override { return policy_->several_gpus(); }
  bool heeds_clients_gpus() const override { return policy_->heeds_clients_gpus(); }
  void seed(const Stream& stream) override { policy_->seed(stream); }
  void note(Time now, const Fact& fact, const View& view) override {
    at_work = 1;
    policy_->note(now, fact, view);
    at_work = 0;
  }
  void decide(Time now, const View& view, Orders& orders) override {
    PassedOn passed_on(orders);
    at_work = 1;
    policy_->decide(now, view, passed_on);
    at_work = 0;
  }

 private:
  std::unique_ptr<Policy> policy_;
};

const PolicyEntry* watched = nullptr;  // a policy's maker has no state of its own

std::unique_ptr<Policy> make_watched(const ParameterValues& values) {
  return std::make_unique<Watched>(watched->make(values));
}

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(const Experiment& experiment, std::vector<Point> points, std::uint32_t policy) {
  const WorldEntry& sim = Worlds::named("sim", "bench", "world");
  const Contender& contender = points[0].policies[policy];
  const std::string label = contender.label;
  if (needs_of(contender).has(Capability::native)) return;
  watched = contender.entry;
  PolicyEntry replaced = *watched;
  replaced.make = make_watched;
  for (Point& point : points) point.policies[policy].entry = &replaced;
  const std::atomic<bool> stop{false};
  looks = 0;
  seen_at_work = 0;
  const double began = seconds();
  for (std::uint32_t unit = 0; seconds() < began + kLeastSeconds; ++unit) {
    const auto count = static_cast<std::uint32_t>(points.size());
    play(experiment, points[unit % count], sim, {unit % count, policy, unit / count}, stop);
  }
  fmt::print("{{\"experiment\": \"{}\", \"policy\": \"{}\", \"looks\": {}, \"at_work\": {}}}\n",
             experiment.name, label, static_cast<int>(looks), static_cast<int>(seen_at_work));
}

}  // namespace

int main(int count, char** files) {
  struct sigaction action {};
  action.sa_handler = look;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval every{{0, kLookEvery}, {0, kLookEvery}};
  setitimer(ITIMER_PROF, &every, nullptr);
  for (int i = 1; i < count; ++i) {
    Experiment experiment = read_experiment(files[i], {});
    experiment.write_jobs = false;
    std::vector<Point> points;
    for (std::uint32_t point = 0; point < experiment.points.size(); ++point)
      points.push_back(experiment.points[point]);
    for (std::uint32_t policy = 0; policy < points[0].policies.size(); ++policy)
      measure(experiment, points, policy);
  }
}
