// Thirteen small sets with the values of every theorem, worked out by a program that was written for the
// proofs alone; the sets that refute what one might hope for; the examples of Yang and Anderson's paper.
#include <map>
#include <nlohmann/json.hpp>

#include "models/bounds/one_shot.hpp"
#include "models/bounds/release_order.hpp"
#include "models/bounds/sporadic.hpp"
#include "tests/catch.hpp"
#include "tests/models/bounds/sets.hpp"

namespace gangway {
namespace {

using namespace testing;
using Texts = std::vector<std::string>;

const SporadicTasks& tasks_of(const TaskSet& set) { return std::get<SporadicTasks>(set.tasks); }

// M_h of each task; "-" where it is never blocked.
Texts capacities(const BoundReport& report) {
  Texts out;
  for (const BoundedTask& task : report.tasks)
    out.push_back(task.busy_while_blocked ? std::to_string(*task.busy_while_blocked) : "-");
  return out;
}

// From the head of a stream to completion: by T1's knapsack, and with one capacity for all.
Texts heads(const TaskSet& set) {
  Texts out;
  const SporadicAnalysis analysis(tasks_of(set));
  for (const auto& task : analysis.tasks()) out.push_back((task.H / analysis.scale()).text());
  return out;
}

Texts heads_with(const TaskSet& set, std::int64_t capacity) {
  Texts out;
  const SporadicAnalysis analysis(tasks_of(set));
  for (const auto& task : analysis.tasks())
    out.push_back((analysis.closed_form(task, capacity) / analysis.scale()).text());
  return out;
}

struct Expected {
  std::string name;
  Texts M;
  std::int64_t least;
  std::string U;
  std::int64_t simplest;  // m - b_max + 1
  Texts basic, knapsack, t2;
};

const std::vector<Expected>& table() {
  static const std::vector<Expected> rows{
      {"A",
       {"3", "2", "4"},
       2,
       "103/45",
       3 - 1,
       {"21/2", "21/2", "11"},
       {"8", "23/3", "31/4"},
       {"8", "23/3", "31/4"}},
      {"B", {"6", "8", "8"}, 6, "7/2", 6, {"15/2", "12", "12"}, {"59/8", "12", "12"}, {"59/8", "12", "12"}},
      {"C", {"2", "2", "2"}, 2, "1", 2, {"3", "7/2", "7/2"}, {"3", "7/2", "7/2"}, {"3", "7/2", "7/2"}},
      {"D",
       {"3", "4", "4", "4"},
       3,
       "11/5",
       3,
       {"16/3", "17/3", "5", "7"},
       {"16/3", "17/3", "5", "7"},
       {"17/3", "-", "5", "7"}},
      {"E",
       {"6", "6", "6"},
       6,
       "25/6",
       5,
       {"8", "43/5", "37/5"},
       {"7", "23/3", "19/3"},
       {"28/3", "23/3", "19/3"}},
      {"F", {"4", "4", "4"}, 4, "7/3", 3, {"14/3", "5", "13/3"}, {"4", "9/2", "7/2"}, {"4", "9/2", "7/2"}},
      {"G", {"5", "1", "4"}, 1, "41/20", 1, {"16", "16", "16"}, {"29/5", "5", "31/5"}, {"38/5", "5", "31/5"}},
      {"H",
       {"3", "3", "3"},
       3,
       "11/6",
       3,
       {"20/3", "6", "16/3"},
       {"20/3", "6", "16/3"},
       {"20/3", "6", "28/3"}},
      {"I",
       {"3", "3", "3", "3"},
       3,
       "2",
       3,
       {"4", "4", "4", "10/3"},
       {"4", "4", "4", "10/3"},
       {"4", "4", "4", "10/3"}},
      {"J", {"4", "3", "2"}, 2, "11/4", 2, {"29/2", "14", "14"}, {"10", "10", "10"}, {"-", "10", "10"}},
      {"K", {"2", "2", "2"}, 2, "31/30", 2, {"9/2", "9/2", "5"}, {"9/2", "9/2", "5"}, {"9/2", "9/2", "5"}},
      {"L", {"4", "3", "4"}, 3, "31/20", 3, {"11", "32/3", "11"}, {"9", "9", "9"}, {"9", "9", "9"}},
      {"M", {"4", "4"}, 4, "9/5", 4, {"47/4", "47/4"}, {"47/4", "47/4"}, {"47/4", "47/4"}}};
  return rows;
}

TaskSet set_of(const std::string& name, QueueOrder order) {
  const KnownSet& known = thirteen_sets().at(static_cast<std::size_t>(name[0] - 'A'));
  return sporadic(pool_layout(known.m), known.rows, order);
}

TEST_CASE("capacities, utilisation, T1 and T2 of thirteen sets") {
  for (const Expected& row : table()) {
    INFO("set " << row.name);
    const TaskSet set = set_of(row.name, QueueOrder::became_head);
    const BoundReport report = bound_responses(set);
    CHECK(capacities(report) == row.M);
    CHECK(report.least_busy == row.least);
    CHECK(report.utilisation->text() == row.U);
    CHECK(heads_with(set, row.simplest) == row.basic);
    CHECK(heads(set) == row.knapsack);
    CHECK(bounds(report, "T2") == row.t2);
    Texts offered;
    for (std::size_t i = 0; i < row.knapsack.size(); ++i) {
      const bool in_time =
          std::get<SporadicTasks>(set.tasks).tasks[i].period >=
          SporadicAnalysis(tasks_of(set)).tasks()[i].H / SporadicAnalysis(tasks_of(set)).scale();
      offered.push_back(in_time ? row.knapsack[i] : "-");
    }
    CHECK(bounds(report, "T1") == offered);
  }
}

TEST_CASE("windows of T2 that close after hundreds of jobs") {
  const auto report = [](const ThreadLayout& layout, const std::vector<TaskRow>& rows) {
    return bound_responses(sporadic(layout, rows));
  };
  const BoundReport first = report(pool_layout(7), {{1, 3, 1, 5}, {3, 17}, {1, 5, 1, 2}, {1, 4, 1, 3}});
  CHECK(bounds(first, "T2") == Texts{"31/5", "31/5", "22/5", "21/5"});
  CHECK(tightest(first)[0] == "31/5");
  const BoundReport second =
      report(multiprocessors(4, 2), {{2, 42}, {4, 5, 1, 2}, {1, 15}, {2, 10, 3, 1}, {1, 12}});
  CHECK(bounds(second, "T2") == Texts{"5", "33/4", "33/8", "5", "33/8"});
  CHECK(tightest(second)[1] == "33/4");
  for (std::size_t i = 0; i < 4; ++i) CHECK((first.stopped(i).empty() && second.stopped(i).empty()));
}

TEST_CASE("a demand that is exactly a period closes no window") {
  // H_1 = 3, T_1 = 2: one own job and half a job of the other in every 2.
  const BoundReport report = bound_responses(sporadic(pool_layout(1), {{1, 2}, {2, 4}}));
  CHECK(needs(report, "T2", 0) == "a demand of a period below T_i");
  CHECK(report.stopped(0).empty());
}

TEST_CASE("what a step limit stopped says so, task by task and to programs") {
  // One part in 10^8 below what it can take: windows close after millions of jobs, and lambda is far away.
  std::vector<TaskRow> rows;
  for (const std::int64_t T : {101, 103, 107, 109, 113, 127, 131, 137, 139, 149})
    rows.push_back({Rational(T, 10), T});
  rows[0].w = rows[0].w - Rational(1, 1'000'000);
  const TaskSet set = sporadic(pool_layout(1), rows);
  const BoundReport report = bound_responses(set);
  CHECK(needs(report, "T2", 0) == "a window that closes within the steps allowed");
  CHECK(report.stopped(0) == Texts{"T2", "T5", "T5-closed", "T5-with-T1"});
  CHECK(report.stopped(9) == Texts{"T5", "T5-closed", "T5-with-T1"});
  CHECK(bounds(report, "T2")[1] == "774199773/1000000");  // of longer periods alone: exact
  REQUIRE(report.tightest(0) != nullptr);
  const auto json = to_json(set, report)["tasks"][0];
  CHECK(json["stopped"] == Texts{"T2", "T5", "T5-closed", "T5-with-T1"});
  std::map<std::string, std::string> looser;
  for (const auto& bound : json["bounds"])
    if (bound.contains("looser")) looser[bound["bound"]] = bound["looser"];
  CHECK(looser["T5-closed"] == "lambda is only bounded from above");
  for (const char* name : {"T5", "T5-with-T1"})
    CHECK_THAT(looser[name], Catch::Matchers::ContainsSubstring("are bounded by the fluid demand"));
}

TEST_CASE("T5 of seven sets: lambda, backlog, in any order, with T1") {
  struct Row5 {
    std::string name, lambda, backlog;
    Texts any;
    std::vector<std::pair<std::size_t, std::string>> with_t1;
  };
  for (const Row5& row :
       std::vector<Row5>{{"C", "15/2", "11", {"21/2", "23/2", "23/2"}, {}},
                         {"E", "221/3", "334", {"286/3", "349/3", "132"}, {{0, "56"}}},
                         {"F", "49/2", "68", {"29", "31", "36"}, {}},
                         {"H", "290/3", "188", {"406/3", "280/3", "118"}, {{2, "278/3"}}},
                         {"K", "11", "16", {"16", "17", "18"}, {}},
                         {"L", "46/3", "42", {"27", "104/3", "33"}, {}},
                         {"M", "17", "56", {"103/4", "127/4"}, {{0, "77/4"}, {1, "47/4"}}}}) {
    INFO("set " << row.name);
    for (const QueueOrder order : {QueueOrder::became_head, QueueOrder::release_ready}) {
      const BoundReport report = bound_responses(set_of(row.name, order));
      CHECK(figure(report, "T5", "lambda")->text() == row.lambda);
      CHECK(figure(report, "T5", "B*")->text() == row.backlog);
      CHECK(bounds(report, "T5") == row.any);
    }
    const BoundReport report = bound_responses(set_of(row.name, QueueOrder::became_head));
    for (const auto& [task, value] : row.with_t1) CHECK(bounds(report, "T5-with-T1")[task] == value);
  }
  const BoundReport without = bound_responses(set_of("I", QueueOrder::became_head));
  CHECK(needs(without, "T5") == "sigma_j > 0 for every task");  // sigma_1 is exactly 0
}

TEST_CASE("T3 and T4 of six sets") {
  const auto of = [](const char* name, const char* bound) {
    return bounds(bound_responses(set_of(name, QueueOrder::release_ready)), bound);
  };
  CHECK(of("C", "T3-closed") == Texts{"37/10", "21/5", "21/5"});
  CHECK(of("C", "T3") == Texts{"7/2", "4", "4"});
  CHECK(of("D", "T3-closed") == Texts{"80/9", "83/9", "77/9", "95/9"});
  CHECK(of("D", "T3") == Texts{"22/3", "23/3", "7", "9"});
  CHECK(of("F", "T3-closed") == Texts{"11/2", "6", "5"});
  CHECK(of("F", "T3") == Texts{"5", "11/2", "9/2"});
  CHECK(of("K", "T3-closed") == Texts{"45/8", "45/8", "49/8"});
  CHECK(of("K", "T3") == Texts{"11/2", "11/2", "6"});
  CHECK(of("L", "T4") == Texts{"220/13", "647/39", "220/13"});
  CHECK(of("M", "T4") == Texts{"235/11", "235/11"});
}

TEST_CASE("T3 holds at a utilisation of exactly M*, its refinement does not reach there") {
  // Two tasks that fill both threads, and no double is 1/3.
  const BoundReport full = bound_responses(sporadic(
      pool_layout(2), {{Rational(1, 3), 1}, {Rational(2, 3), 1}, {1, 1}}, QueueOrder::release_ready));
  CHECK(full.utilisation->text() == "2");
  CHECK(needs(full, "T3-closed").empty());
  CHECK(needs(full, "T3") == "U < M*");
  const BoundReport beyond = bound_responses(
      sporadic(pool_layout(2), {{Rational(1, 3), 1}, {Rational(2'000'001, 3'000'000), 1}, {1, 1}},
               QueueOrder::release_ready));
  CHECK(needs(beyond, "T3-closed") == "U <= M*");
}

// --- What is false

TEST_CASE("CE1: utilisation below M* and block times below periods do not suffice in R2's order") {
  const std::vector<TaskRow> rows{{10, 14}, {20, 60}, {20, 60}, {20, 60}};
  for (const QueueOrder order : {QueueOrder::became_head, QueueOrder::release_all}) {
    const BoundReport report = bound_responses(sporadic(pool_layout(2), rows, order));
    CHECK(report.utilisation->text() == "12/7");
    CHECK(report.least_busy == 2);
    CHECK(tightest(report)[0] == "-");  // its responses grow for ever
    CHECK_FALSE(needs(report, "T3").empty());
    CHECK_FALSE(needs(report, "T3-closed").empty());
  }
  const BoundReport ready = bound_responses(sporadic(pool_layout(2), rows, QueueOrder::release_ready));
  CHECK(*ready.tightest(0) >= Rational(50));  // what simulation reaches
}

TEST_CASE("CE2: several blocks let noise in, even in release order") {
  const std::vector<TaskRow> rows{{100, 109, 2, 1}, {20, 110}, {20, 110}, {20, 110}};
  for (const QueueOrder order :
       {QueueOrder::became_head, QueueOrder::release_ready, QueueOrder::release_all}) {
    const BoundReport report = bound_responses(sporadic(pool_layout(4), rows, order));
    CHECK(report.utilisation->number() == Approx(2.3803).margin(5e-5));
    CHECK(report.least_busy == 4);
    CHECK(tightest(report)[0] == "-");
  }
  const BoundReport ready = bound_responses(sporadic(pool_layout(4), rows, QueueOrder::release_ready));
  CHECK(needs(ready, "T3") == "g_j = 1 for every task");
  CHECK(needs(ready, "T5") == "sigma_j > 0 for every task");
}

TEST_CASE("CE3: just below and just above the slack that T5 needs") {
  std::vector<TaskRow> rows(9, TaskRow{2, 202});
  rows[0] = {200, 201};
  const BoundReport without = bound_responses(sporadic(pool_layout(8), rows));
  CHECK(without.utilisation->number() == Approx(1.0742).margin(5e-5));
  CHECK(tightest(without)[0] == "-");
  rows[0].T = 203;
  const BoundReport with = bound_responses(sporadic(pool_layout(8), rows));
  CHECK(needs(with, "T5").empty());
  CHECK(*with.tightest(0) >= Rational(202));
  rows[0].T = 201;
  CHECK(*bound_responses(sporadic(pool_layout(8), rows, QueueOrder::release_ready)).tightest(0) >=
        Rational(202));
}

TEST_CASE("CE4: T3 does not hold on multiprocessors and is not offered there, nor is T4") {
  std::vector<TaskRow> rows{{100, 144, 1, 2}};
  rows.insert(rows.end(), 3, {100, 108});
  rows.insert(rows.end(), 4, {46, 145});
  rows.push_back({46, 1'000'000});
  const TaskSet set = sporadic(multiprocessors(3, 3), rows, QueueOrder::release_ready);
  const BoundReport report = bound_responses(set);
  CHECK(report.threads == 9);
  CHECK(report.least_busy == 6);
  CHECK(report.utilisation->number() == Approx(5.4357).margin(5e-5));
  const SporadicAnalysis analysis(tasks_of(set));
  const Rational would_be = *ReleaseOrder(analysis).delay() + analysis.tail_loss(analysis.tasks()[0]);
  CHECK((would_be / analysis.scale()).number() == Approx(641.6).margin(0.05));  // responses exceed 1600
  for (const char* name : {"T3", "T3-closed", "T4"}) CHECK(needs(report, name).starts_with("layout: pool"));
  CHECK(tightest(report)[0] == "-");
}

// --- Who is refused

TEST_CASE("each bound is offered for the orders it is proven for") {
  const std::vector<TaskRow> rows{
      {1, 30}, {2, 60, 2, 1}, {1, 50, 3, 1}};  // light: every condition but g = 1 holds
  const auto applies = [&](const char* name, QueueOrder order, const ThreadLayout& layout) {
    return needs(bound_responses(sporadic(layout, rows, order)), name).empty();
  };
  const auto head = QueueOrder::became_head;
  const auto ready = QueueOrder::release_ready;
  const auto all = QueueOrder::release_all;
  for (const ThreadLayout& layout : {pool_layout(2), multiprocessors(2, 1)}) {
    for (const char* name : {"T1", "T1-closed", "T2", "T5-with-T1"}) {
      CHECK(applies(name, head, layout));
      CHECK_FALSE(applies(name, ready, layout));
      CHECK_FALSE(applies(name, all, layout));
    }
    for (const char* name : {"T5", "T5-closed"}) {
      CHECK(applies(name, head, layout));
      CHECK(applies(name, ready, layout));
      CHECK_FALSE(applies(name, all, layout));
    }
    for (const QueueOrder order : {head, ready, all}) CHECK(applies("T1b", order, layout));
  }
  CHECK(applies("T4", ready, pool_layout(2)));
  CHECK_FALSE(applies("T4", head, pool_layout(2)));
  CHECK_FALSE(applies("T4", ready, multiprocessors(2, 1)));
}

TEST_CASE("streams beyond the channels and stream priorities are outside every theorem") {
  TaskSet set = set_of("C", QueueOrder::became_head);
  auto& tasks = std::get<SporadicTasks>(set.tasks);
  tasks.channels = 2;
  BoundReport report = bound_responses(set);
  for (const AppliedBound& applied : report.bounds)
    CHECK(needs(report, applied.bound->name) == "a channel for each stream");
  CHECK(tightest(report) == Texts{"-", "-", "-"});
  tasks.channels = 3;
  CHECK(tightest(bound_responses(set))[0] == "3");
  tasks.priorities = true;
  report = bound_responses(set);
  for (const AppliedBound& applied : report.bounds)
    CHECK(needs(report, applied.bound->name) == "no stream priorities");
}

TEST_CASE("where nothing ever waits for room, a job takes its block time") {
  const std::vector<TaskRow> rows{{3, 4, 2, 1}, {5, 4}};
  for (const QueueOrder order : {QueueOrder::became_head, QueueOrder::release_ready}) {
    const BoundReport report = bound_responses(sporadic(pool_layout(4), rows, order));
    CHECK_FALSE(report.least_busy);
    CHECK(tightest(report) == Texts{"3", "-"});  // the second is released faster than it runs
  }
  CHECK(tightest(bound_responses(sporadic(pool_layout(4), {{3, 4, 2, 1}}, QueueOrder::release_all))) ==
        Texts{"3"});
}

TEST_CASE("utilisation beyond the device is no error, and T1 may still bound a task") {
  const BoundReport report = bound_responses(sporadic(pool_layout(2), {{1, 100}, {4, 1}, {4, 1}}));
  CHECK(*report.utilisation > Rational(8));
  CHECK(tightest(report) == Texts{"5", "-", "-"});
}

// --- Yang and Anderson's examples

TEST_CASE("the paper's example 2: within m, but beyond what any theorem covers") {
  const auto row = [](std::int64_t tenths, std::int64_t T, std::int64_t g, std::int64_t b) {
    return TaskRow{Rational(tenths, 10), T, g, b};
  };
  const std::vector<TaskRow> rows{row(38, 8, 1, 1024), row(60, 16, 7, 512), row(60, 17, 1, 1024),
                                  row(112, 18, 5, 512)};
  const BoundReport report = bound_responses(sporadic(pool_layout(4096), rows));
  CHECK(report.utilisation->number() == Approx(3784.7).margin(0.05));
  CHECK(report.least_busy == 3584);
  const TaskSet set = sporadic(pool_layout(4096), rows);
  const SporadicAnalysis analysis(tasks_of(set));
  const std::vector<double> expected{19.514, 21.943, 21.086, 26.4};
  for (std::size_t i = 0; i < 4; ++i)
    CHECK((analysis.tasks()[i].H / analysis.scale()).number() == Approx(expected[i]).margin(5e-4));
  for (const QueueOrder order : {QueueOrder::became_head, QueueOrder::release_ready, QueueOrder::release_all})
    CHECK(tightest(bound_responses(sporadic(pool_layout(4096), rows, order))) == Texts{"-", "-", "-", "-"});
}

TEST_CASE("the paper's theorem 1: the task whose responses grow gets no bound") {
  const std::vector<TaskRow> rows{{Rational(1, 10), 1, 2, 3}, {1, 1, 2, 1}, {1, 1, 4, 1}};
  for (const QueueOrder order :
       {QueueOrder::became_head, QueueOrder::release_ready, QueueOrder::release_all}) {
    const BoundReport report = bound_responses(sporadic(pool_layout(8), rows, order));
    CHECK(report.utilisation->text() == "33/5");
    CHECK(report.least_busy == 6);
    CHECK(tightest(report)[2] == "-");
  }
}

TEST_CASE("the paper's example 1 as one-shot kernels, in any order and in its order") {
  const auto kernel = [](const char* name, std::int64_t time, std::int64_t g, std::int64_t b) {
    return OneShotKernel{name, {Rational(time * g * b), g, b}, 0};
  };
  OneShotKernels kernels;
  kernels.layout = pool_layout(4096);
  kernels.streams = {{"s1", {kernel("K1", 38, 1, 1024), kernel("K5", 38, 1, 1024)}},
                     {"s2", {kernel("K2", 60, 7, 512)}},
                     {"s3", {kernel("K3", 60, 1, 1024)}},
                     {"s4", {kernel("K4", 112, 5, 512)}}};
  const auto values = [&](const char* name) {
    std::vector<double> out;
    const BoundReport report = bound_responses({"seed", "", "", kernels});
    CHECK(report.least_busy == 3584);
    for (const BoundOrUnmet& bound : report.bounds[std::string(name) == "T6" ? 0 : 1].result.tasks) {
      const auto* value = std::get_if<Rational>(&bound);
      out.push_back(value != nullptr ? value->number() : -1);
    }
    return out;
  };
  const auto near = [](const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(5e-5));
  };
  near(values("T6"), {195.1429, 233.1429, 219.4286, 210.8571, 264.0});
  near(values("T6-listed"), {-1, -1, -1, -1, -1});
  kernels.listed = true;
  near(values("T6-listed"), {38, -1, 122.2857, 130.8571, 264.0});
  // Simulated completions: 38, 158, 98, 120, 172.
  kernels.streams[3].kernels[0].at = 10;
  near(values("T6"), {-1, -1, -1, -1, -1});
  near(values("T6-listed"), {-1, -1, -1, -1, -1});  // K5 may come before K4
  kernels.streams[0].kernels.pop_back();
  near(values("T6-listed"), {38, 122.2857, 130.8571, 274.0});
  kernels.streams[3].kernels[0].at = 123;  // K1 and K2 are surely done by then, K3 is not
  near(values("T6-listed"), {38, 122.2857, 130.8571, 123 + (61440.0 + 286720 + 344064) / 3584});
}

TEST_CASE("one-shot capacities: a stream runs one kernel at a time") {
  OneShotKernels kernels;
  kernels.layout = pool_layout(5);
  kernels.streams = {{"a", {{"a1", {2, 1, 2}, 0}, {"a2", {1, 1, 1}, 0}}}, {"b", {{"b1", {4, 1, 4}, 0}}}};
  // b1 is blocked by a1 (2 busy) or not at all: a1 and a2 are never there together. a1 is blocked by b1, a2
  // never.
  CHECK(OneShotAnalysis(kernels).least_busy() == 2);
  kernels.streams.push_back({"c", {{"c1", {1, 1, 1}, 0}}});
  CHECK(OneShotAnalysis(kernels).least_busy() == 2);
  kernels.streams[0].kernels[0].grid = {1, 1, 1};
  CHECK(OneShotAnalysis(kernels).least_busy() == 2);  // a1 and c1
  kernels.streams.pop_back();
  CHECK_FALSE(OneShotAnalysis(kernels).least_busy());
}

// --- One kernel owns the GPU at a time

OwningTasks owning(const std::vector<std::array<std::int64_t, 5>>& rows,
                   std::optional<Rational> quantum = {}) {
  OwningTasks set;
  set.quantum = std::move(quantum);
  for (const auto& [c, e, l, J, T] : rows) {
    OwningTask task{"t" + std::to_string(set.tasks.size() + 1), c, e, l, J, std::nullopt};
    if (T > 0) task.period = T;
    set.tasks.push_back(std::move(task));
  }
  return set;
}

TEST_CASE("T7: fixed priorities with evictions and relaunches") {
  const auto of = [](const OwningTasks& set) { return bounds(bound_responses({"set", "", "", set}), "T7"); };
  CHECK(of(owning({{50, 5, 10, 0, 400}, {120, 20, 10, 30, 900}, {300, 40, 15, 0, 2000}})) ==
        Texts{"115", "305", "730"});
  CHECK(of(owning({{2, 1, 1, 0, 12}, {4, 2, 1, 1, 24}, {9, 3, 1, 0, 60}})) == Texts{"7", "22", "-"});
  CHECK(of(owning({{1, 0, 0, 0, 2}, {1, 0, 0, 0, 2}})) == Texts{"1", "2"});  // a demand of exactly 1
  CHECK(of(owning({{1, 0, 0, 0, 2}}, Rational(1))) == Texts{"-"});
}

TEST_CASE("T7 needs to know how often jobs come") {
  CHECK(bounds(bound_responses({"set", "", "", owning({{10, 1, 1, 0, 0}})}), "T7") == Texts{"-"});
}

TEST_CASE("T8: round robin with evictions and relaunches") {
  const auto of = [](const OwningTasks& set) { return bounds(bound_responses({"set", "", "", set}), "T8"); };
  CHECK(of(owning({{10, 1, 1, 0, 0}, {3, 1, 1, 0, 0}, {7, 2, 1, 0, 0}}, Rational(4))) ==
        Texts{"48", "17", "31"});
  CHECK(of(owning({{10, 1, 1, 0, 48}, {3, 1, 1, 0, 16}, {7, 2, 1, 0, 31}}, Rational(4))) ==
        Texts{"48", "-", "31"});
  CHECK(of(owning({{17, 5, 2, 0, 42}, {3, 3, 0, 0, 34}, {11, 0, 1, 0, 90}, {18, 4, 3, 0, 147}},
                  Rational(4)))[1] == "30");
  CHECK(of(owning({{10, 1, 1, 0, 0}})) == Texts{"-"});
}

}  // namespace
}  // namespace gangway
