#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/library/library.hpp"
#include "experiments/running/runner.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/fig4.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::kFig4;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

RunReport run(const Experiment& experiment, const fs::path& out, unsigned threads, bool force = false) {
  RunOptions options;
  options.out = out;
  options.world = &Worlds::named("sim", "test", "world");
  options.threads = threads;
  options.force = force;
  return run_experiment(experiment, options, std::atomic<bool>(false));
}

}  // namespace

TEST_CASE("every file that comes with Gangway is fine") {
  for (const char* what : {"devices", "workloads", "experiments"}) {
    REQUIRE_FALSE(library(what).empty());
    for (const LibraryFile& file : library(what)) CHECK_NOTHROW(check_file(file.path));
  }
}

TEST_CASE("what else lies in experiments/ is not listed as an experiment") {
  const std::vector<LibraryFile> listed = library("experiments");
  const auto is_listed = [&](const char* name) {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const LibraryFile& file) { return file.name == name; });
  };
  CHECK(is_listed("live/neon-fig4"));
  CHECK(is_listed("bounds/map"));           // a study
  CHECK_FALSE(is_listed("live/programs"));  // a workload
  CHECK_FALSE(is_listed("chip/h100/calibration/device"));
  CHECK_FALSE(is_listed("frs/printed"));
}

TEST_CASE("sweeps expand to every combination, the last path fastest") {
  const Experiment e =
      read_experiment(kFig4, {{"sweep",
                               "{policies.rr.params.quantum: [1 ms, 2 ms], "
                               "workload.arrivals.gap: {from: 1 ms, to: 4 ms, factor: 2}}"}});
  REQUIRE(e.points.size() == 6);
  CHECK(e.points[1].values == std::vector<std::string>{"1 ms", "2 ms"});
  CHECK(e.points[3].values == std::vector<std::string>{"2 ms", "1 ms"});
  CHECK(e.points[5].workload->sample().arrivals->gap == Duration{4'000'000});
  for (const ChosenPolicy& policy : e.points[5].policies)
    if (policy.label == "rr") CHECK(policy.values.duration("quantum") == Duration{2'000'000});
}

TEST_CASE("an experiment can have some of a workload's clients, and sweep which") {
  const Experiment e = read_experiment(
      kFig4, {{"published", "[]"}, {"clients", "[VA]"}, {"sweep", "{clients: [[VA], [BS, VA], [SPMV]]}"}});
  const auto names = [&](std::uint32_t point) {
    std::vector<std::string> out;
    for (const Client& client : e.points[point].workload->draw(1, 0).clients) out.push_back(client.name);
    return out;
  };
  CHECK(e.points[1].values == std::vector<std::string>{"BS+VA"});
  CHECK(names(0) == std::vector<std::string>{"VA"});
  CHECK(names(1) == std::vector<std::string>{"VA", "BS"});  // in the order of the workload
  CHECK(names(2) == std::vector<std::string>{"SPMV"});
}

TEST_CASE("paths lead through names, indices and files") {
  const Experiment e = read_experiment(kFig4, {{"workload.clients.VA.kernels.0.time", "1 ms"},
                                               {"device.commands.launch", "7 us"},
                                               {"mechanism.params.useful", "25 %"},
                                               {"policies.4.params.minimum_quantum", "2 ms"}});
  CHECK(e.points[0].workload->sample().clients[2].kernels[0].time == Duration{1'000'000});
  CHECK(e.points[0].device.commands.launch == Duration{7'000});
  CHECK(e.points[0].mechanism.values.number("useful") == 0.25);
  CHECK(e.identity != read_experiment(kFig4, {}).identity);
  const Experiment dotted = read_experiment(kFig4, {{"published", "[]"},
                                                    {"policies", "[{name: rr, label: rr-1.5}, rr]"},
                                                    {"policies.rr-1.5.params.quantum", "1.5 ms"}});
  CHECK(dotted.points[0].policies[1].values.duration("quantum") == Duration{1'500'000});
}

TEST_CASE("the device can be named anew") {
  CHECK_THROWS_WITH(read_experiment(kFig4, {{"device", "titan-x-pascla"}}),
                    Catch::Matchers::ContainsSubstring("did you mean 'titan-x-pascal'"));
}

TEST_CASE("a policy's own device is laid over the experiment's, swept or not") {
  const Experiment e = read_experiment(
      kFig4,
      {{"published", "[]"},
       {"policies",
        "[sjf, {name: passthrough, label: fifo, device: {arbitration: native-fifo, copy: {h2d: {latency: "
        "1 us}}}}]"},
       {"sweep", "{device.commands.launch: [7 us, 9 us], device.copy.d2h.latency: [3 us]}"}});
  REQUIRE(e.points.size() == 2);
  const Point point = e.points[1];
  const Device &common = point.device_of(point.policies[1]), &own = point.device_of(point.policies[0]);
  REQUIRE(point.policies[0].label == "fifo");
  CHECK(own.arbitration == Arbitration::fifo);
  CHECK(common.arbitration == Arbitration::priority);
  CHECK(own.h2d.latency == Duration{1'000});
  CHECK(common.h2d.latency == Duration{8'000});
  CHECK(own.h2d.bandwidth.bytes_per_second == 12'000'000'000);  // what it does not name stays
  for (const Device* device : {&common, &own}) {
    CHECK(device->commands.launch == Duration{9'000});
    CHECK(device->d2h.latency == Duration{3'000});
  }
  const Experiment on_top = read_experiment(
      kFig4, {{"published", "[]"},
              {"policies", "[sjf, {name: passthrough, label: fifo, device: {arbitration: native-fifo}}]"},
              {"device.commands.launch", "7 us"},
              {"policies.fifo.device.commands.launch", "1 us"}});
  const Point only = on_top.points[0];
  CHECK(only.device_of(only.policies[0]).commands.launch == Duration{1'000});
  CHECK(only.device_of(only.policies[1]).commands.launch == Duration{7'000});
}

TEST_CASE("times that follow from the device follow from a policy's own") {
  const Experiment e = read_experiment(
      kFig4,
      {{"published", "[]"},
       {"workload",
        "{kind: workload, version: 1, name: w, clients: [{name: A, kernels: [{name: k, block_tasks: 56, "
        "block: [1024], block_task_length: 1 ms}]}]}"},
       {"permutations", "1"},
       {"policies",
        "[{name: passthrough, label: all}, {name: passthrough, label: half, device: {sms: 14}}]"}});
  const Point point = e.points[0];
  CHECK(point.workload_of(point.policies[0]).sample().clients[0].kernels[0].time == Duration{1'000'000});
  CHECK(point.workload_of(point.policies[1]).sample().clients[0].kernels[0].time == Duration{2'000'000});
}

TEST_CASE("a policy on a device of its own has the results of an experiment on that device") {
  // Kernels that fill half of the device each: two run side by side, or one after the other.
  const std::string workload =
      "{kind: workload, version: 1, name: w, clients: [{name: A, kernels: [{name: k, block_tasks: 28, block: "
      "[1024], block_task_length: 1 ms}]}, {name: B, kernels: [{name: k, block_tasks: 28, block: [1024], "
      "block_task_length: 1 ms}]}]}";
  const std::vector<Override> common{
      {"published", "[]"}, {"workload", workload}, {"permutations", "1"}, {"replications", "1"}};
  const auto of = [&](std::vector<Override> more) {
    more.insert(more.begin(), common.begin(), common.end());
    const Experiment e = read_experiment(kFig4, more);
    std::vector<double> makespans;
    for (std::uint32_t policy = 0; policy < e.points[0].policies.size(); ++policy)
      makespans.push_back(play(e, e.points[0], Worlds::named("sim", "test", "world"), {0, policy, 0},
                               std::atomic<bool>(false))
                              ->metrics.makespan_ns);
    return makespans;
  };
  const auto fifo = of({{"policies", "[passthrough]"}, {"device.arbitration", "native-fifo"}});
  const auto direct = of({{"policies", "[passthrough]"}, {"device.arbitration", "direct"}});
  CHECK(fifo == std::vector<double>{1e6});
  CHECK(direct == std::vector<double>{2e6});
  CHECK(of({{"policies",
             "[{name: passthrough, label: fifo, device: {arbitration: native-fifo}}, {name: passthrough, "
             "label: direct, device: {arbitration: direct}}]"}}) == std::vector<double>{direct[0], fifo[0]});
}

TEST_CASE("an experiment that comes with Gangway is known by its name") {
  CHECK(read_experiment("frs/fig4", {{"published", "[]"}}).published.empty());
  CHECK_THROWS_WITH(read_experiment("frs/fig5", {}),
                    Catch::Matchers::ContainsSubstring("did you mean 'frs/fig3'") ||
                        Catch::Matchers::ContainsSubstring("did you mean 'frs/fig4'"));
}

TEST_CASE("permutations are permutations, all of them different when all are asked for") {
  const Experiment e = read_experiment(kFig4, {});
  const Workload workload = e.points[0].workload->draw(*e.seed, 0);
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint32_t p = 0; p < 100; ++p) {
    auto order = arrival_order(e, workload, *e.seed, 0, p);
    seen.insert(order);
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < order.size(); ++i) REQUIRE(order[i] == i);
  }
  CHECK(seen.size() > 95);
  Experiment all = e;
  all.all_permutations = true;
  Workload four = workload;
  four.clients.resize(4);
  seen.clear();
  for (std::uint32_t p = 0; p < 24; ++p) seen.insert(arrival_order(all, four, 1, 0, p));
  CHECK(seen.size() == 24);
}

TEST_CASE("of FRS Fig. 4 the ANTT of CFS alone is missed with the plain settings") {
  const ScratchFolder scratch;
  const Experiment e = read_experiment(kFig4, {{"jobs", "false"}});
  const RunReport report = run(e, scratch.path(), 2);
  std::vector<std::string> missed;
  for (std::size_t i = 0; i < e.published.size(); ++i)
    if (report.findings.verdicts.at(i).verdict == "miss")
      missed.push_back(e.published[i].policy + " " + e.published[i].metric);
  CHECK(missed == std::vector<std::string>{"cfs antt"});
}

TEST_CASE("the same bytes with one thread and with eight") {
  const ScratchFolder scratch;
  const Experiment e = read_experiment(kFig4, {{"replications", "5"},
                                               {"permutations", "7"},
                                               {"workload.jitter", "{kernel_time: 5 %, arrival: 0.3 ms}"}});
  run(e, scratch / "one", 1);
  run(e, scratch / "eight", 8);
  for (const char* file : {"summary.csv", "clients.csv", "replications.csv", "jobs.csv", "published.csv"})
    CHECK(read_file(scratch / "one" / file) == read_file(scratch / "eight" / file));
}

TEST_CASE("a generated workload is drawn anew for each replication, the same for every policy") {
  const ScratchFolder scratch;
  std::ofstream(scratch / "g.yaml")
      << "kind: experiment\nversion: 1\nname: g\n"
         "workload: {kind: workload, version: 1, name: w, generator: log-uniform}\n"
         "device: titan-x-pascal\nmechanism: ideal\npolicies: [fcfs, srt]\nreplications: 3\n";
  const Experiment e = read_experiment((scratch / "g.yaml").string(), {});
  const auto standalone = [&](std::uint32_t policy, std::uint32_t replication) {
    return play(e, e.points[0], Worlds::named("sim", "test", "world"), {0, policy, replication},
                std::atomic<bool>(false))
        ->metrics.clients[0]
        .standalone_ns;
  };
  CHECK(standalone(0, 0) == standalone(1, 0));
  CHECK(standalone(0, 0) != standalone(0, 1));
  const RunReport report = run(e, scratch / "out", 2);
  const auto antt = [&](std::size_t policy) {
    return cell(report.findings.rows[policy].summary, "antt").number();
  };
  CHECK(antt(1).value() < antt(0).value());  // srt is better than fcfs
}

TEST_CASE("a policy that needs more than the world has is refused before anything is written") {
  const ScratchFolder scratch;
  const Experiment e =
      read_experiment(kFig4, {{"published", "[]"}, {"policies", "[disengaged-fair-queueing]"}});
  RunOptions options;
  options.out = scratch / "out";
  options.world = &Worlds::named("host", "test", "world");
  CHECK_THROWS_WITH(run_experiment(e, options, std::atomic<bool>(false)),
                    Catch::Matchers::ContainsSubstring("a policy that needs"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("a run in which nothing finishes fails") {
  const ScratchFolder scratch;
  const Experiment e =
      read_experiment(kFig4, {{"horizon", "10 us"}, {"replications", "1"}, {"permutations", "1"}});
  CHECK_THROWS_WITH(run(e, scratch / "out", 1), Catch::Matchers::ContainsSubstring("no job finished"));
  CHECK_FALSE(fs::exists(scratch / "out" / "summary.csv"));
}
