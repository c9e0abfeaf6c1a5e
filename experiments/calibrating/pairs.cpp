#include "experiments/calibrating/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/comparing/compare.hpp"
#include "experiments/library/calibration_files.hpp"
#include "experiments/results/files.hpp"
#include "experiments/running/runner.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/input/yaml_writer.hpp"
#include "models/random.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

constexpr int kMeetings = 4;  // of a pair, in each order and under each policy

using Pair = std::pair<std::size_t, std::size_t>;

std::vector<Kernel> kernels_of(const Calibration& calibration) {
  std::vector<Kernel> all;
  for (const Client& client : calibration.clients)
    for (const Kernel& kernel : client.kernels) {
      all.push_back(kernel);
      all.back().name = client.name == kernel.name ? kernel.name : client.name + "-" + kernel.name;
    }
  return all;
}

std::vector<std::size_t> shuffled(std::size_t count, Stream& random) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = i;
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

// As many different ones as are wanted, each kernel about as often as any other.
std::vector<Pair> drawn_pairs(std::size_t kernels, std::size_t wanted, std::uint64_t seed) {
  Stream random(seed, "pairs", {});
  std::vector<Pair> pairs;
  const std::size_t most = std::min(wanted, kernels * (kernels - 1) / 2);
  while (pairs.size() < most) {
    const std::vector<std::size_t> order = shuffled(kernels, random);
    for (std::size_t i = 0; i + 1 < kernels && pairs.size() < most; i += 2) {
      const Pair pair = std::minmax(order[i], order[i + 1]);
      if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
  }
  return pairs;
}

Node pair_client(const Kernel& kernel, Duration period) {
  Node client = yaml_mapping({{"name", kernel.name}});
  Node repeat = yaml_mapping({{"jobs", std::to_string(kMeetings)}, {"period", to_text(period)}});
  client.put("repeat", std::move(repeat));
  client.put("kernels", yaml_list({measured_kernel(kernel)}));
  return client;
}

// Each meets the other at a random moment, and is done long before the next time.
Node pair_workload(const Kernel& one, const Kernel& other, std::size_t number) {
  const Duration both = one.transformed() + other.transformed();
  const Duration period{3 * both.ns};
  Node workload =
      yaml_mapping({{"kind", "workload"}, {"version", "1"}, {"name", fmt::format("pair-{}", number)}});
  workload.put("arrivals", yaml_mapping({{"gap", "10 us"}, {"order", "permuted"}}));
  workload.put("jitter", yaml_mapping({{"arrival", to_text(Duration{both.ns / 2})}}));
  workload.put("clients", yaml_list({pair_client(one, period), pair_client(other, period)}));
  return workload;
}

std::filesystem::path play_in(const Experiment& experiment, const std::string& world,
                              const std::filesystem::path& folder, const std::atomic<bool>& stop) {
  RunOptions options;
  options.out = folder / "pairs" / world;
  options.world = &Worlds::named(world, "calibration", "world");
  options.force = true;
  options.command = "gangway calibrate";
  const RunReport report = run_experiment(experiment, options, stop);
  if (report.interrupted) throw RunError("interrupted");
  if (!report.failures.empty()) throw RunError(report.failures.front().text());
  return options.out;
}

}  // namespace

std::string pairs_experiment(const Calibration& calibration, const PairsPlan& plan) {
  const std::vector<Kernel> kernels = kernels_of(calibration);
  std::vector<Node> workloads, quanta;
  for (const auto& [one, other] : drawn_pairs(kernels.size(), plan.pairs, plan.seed)) {
    workloads.push_back(pair_workload(kernels[one], kernels[other], workloads.size() + 1));
    const Duration shorter = std::min(kernels[one].transformed(), kernels[other].transformed());
    quanta.push_back(yaml_text(to_text(Duration{std::max<std::int64_t>(1, shorter.ns / 3)})));
  }
  if (workloads.empty()) return {};
  Node root = yaml_mapping({{"kind", "experiment"},
                            {"version", "1"},
                            {"name", "pairs"},
                            {"title", "Pairs of calibrated kernels"},
                            {"device", "device.yaml"}});
  Node mechanism = yaml_mapping({{"name", plan.mechanism}});
  mechanism.put("params", yaml_mapping({{"useful", to_text(calibration.useful)}}));
  root.put("mechanism", std::move(mechanism));
  root.put("standalone", yaml_text("transformed"));
  root.put("policies", yaml_texts({"fcfs", "rr", "frs"}));
  Node together = yaml_mapping({});
  together.put("workload", yaml_list(std::move(workloads)));
  together.put("policies.rr.params.quantum", yaml_list(std::move(quanta)));
  Node sweep = yaml_mapping({});
  sweep.put("together", std::move(together));
  root.put("sweep", std::move(sweep));
  root.put("permutations", yaml_text("all"));
  root.put("seed", yaml_text(std::to_string(plan.seed)));
  return to_yaml(
      root, {{"", "Kernels that were measured alone meet each other: nothing was fitted to these runs."}});
}

std::optional<ExpectedError> play_pairs(const Calibration& calibration, const PairsPlan& plan,
                                        const std::filesystem::path& folder, const std::atomic<bool>& stop) {
  const std::string text = pairs_experiment(calibration, plan);
  if (text.empty()) return std::nullopt;
  const std::filesystem::path file = folder / "pairs.yaml";
  write_file(file, text);
  const Experiment experiment = read_experiment(file.string(), {});
  const auto predicted = play_in(experiment, "sim", folder, stop);
  const Comparison found = compare_folders(predicted, play_in(experiment, plan.world, folder, stop));
  ExpectedError error;
  error.pairs = experiment.points.size();
  error.jobs = found.ntt.jobs;
  error.ntt_p50 = found.ntt.p50;
  error.ntt_p90 = found.ntt.p90;
  error.ntt_bias = found.ntt.bias;
  return error;
}

}  // namespace gangway
