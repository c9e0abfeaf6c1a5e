#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/comparing/differences.hpp"
#include "experiments/results/files.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// Result folders of the test's own: point 0, policies p and q, two metrics, a service.
struct MadeFolders {
  MadeFolders() {
    for (const fs::path& folder : {a(), b()}) {
      make_folder(folder);
      manifest(folder, "1", 3);
      summary(folder, "");
      write_file(folder / "clients.csv", "point,policy,client,ntt,response_ns_mean,standalone_ns\n");
    }
    replications(a(), {"10,1,,exact", "12,1,,exact", "14,1,,exact"});
    replications(b(), {"11,1,,exact", "14,1,,exact", "17,1,,exact"});
  }
  fs::path a() const { return root / "a"; }
  fs::path b() const { return root / "b"; }
  static void manifest(const fs::path& folder, const std::string& seed, int several,
                       const std::string& world = "sim") {
    write_file(
        folder / "manifest.json",
        fmt::format(R"({{"kind": "result", "experiment": "e", "world": "{}", "seed": {}, "replications": {},
                              "configuration": {{"jobs": false}}}})",
                    world, seed, several));
  }
  // Of policy q with this error.
  static void summary(const fs::path& folder, const std::string& error) {
    const std::string row = ",1,1,1,100,4,10,0.5,7,,exact,";
    write_file(folder / "summary.csv",
               "point,policy,antt,dntt,stp,makespan_ns,evictions,eviction_delay_ns_mean,utilisation,"
               "p99_response_ns,starved,percentiles,error\n0,p" +
                   row + "\n0,q" + (error.empty() ? row : std::string(11, ',') + error) + "\n");
  }
  // Of p, by replication: antt, p99, starved, percentiles.
  static void replications(const fs::path& folder, const std::vector<std::string>& rows,
                           const std::vector<std::string>& of_q = {}) {
    std::string text = "point,policy,replication,antt,p99_response_ns,starved,percentiles\n";
    for (const auto& [policy, own] : {std::pair{"p", &rows}, std::pair{"q", &of_q}})
      for (std::size_t r = 0; r < own->size(); ++r) text += fmt::format("0,{},{},{}\n", policy, r, (*own)[r]);
    write_file(folder / "replications.csv", text);
  }
  static void services(const fs::path& folder, const std::vector<std::string>& rows) {
    std::string text = "point,policy,client,replication,jobs,latency_ns_p99,lower_bounds\n";
    for (std::size_t r = 0; r < rows.size(); ++r) text += fmt::format("0,p,web,{},{}\n", r, rows[r]);
    write_file(folder / "service_replications.csv", text);
  }
  Differences compare(const std::vector<std::string>& metrics = {}) const {
    const auto got = differences_between(compare_folders(a(), b()), metrics);
    REQUIRE(got);
    return *got;
  }
  MetricDifference row(const std::string& metric) const {
    for (const MetricDifference& each : compare().rows)
      if (each.policy == "p" && each.metric == metric) return each;
    FAIL("no row of " + metric);
    return {};
  }
  ScratchFolder root;
};

template <typename Call>
std::string refused(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("replications of one seed are pairs, worked out by hand", "[differences]") {
  const MadeFolders folders;
  const Differences got = folders.compare();
  CHECK(got.paired);
  const MetricDifference antt = folders.row("antt");
  // tests/models/test_t_test.cpp: differences 1, 2, 3.
  CHECK(*antt.difference == Approx(2));
  CHECK(antt.test->p == Approx(1 - std::sqrt(12.0 / 14)));
  CHECK(*antt.p_holm == antt.test->p);
  CHECK(antt.finding == Finding::not_significant);
  CHECK(*antt.a.mean == Approx(12));
  CHECK(*antt.a.half_width == Approx(4.302653 * 2 / std::sqrt(3)).epsilon(1e-6));
  CHECK(*antt.relative() == Approx(2.0 / 12));
  CHECK(folders.row("p99_response_ns").finding == Finding::equal);
  CHECK(got.tests() == 1);
}

TEST_CASE("replications of two seeds are independent samples", "[differences]") {
  const MadeFolders folders;
  MadeFolders::manifest(folders.b(), "2", 3);
  const MetricDifference antt = folders.row("antt");
  CHECK_FALSE(folders.compare().paired);
  CHECK(antt.test->degrees == Approx(169.0 / 48.5));  // (4/3 + 9/3)^2 / ((4/3)^2 / 2 + (9/3)^2 / 2)
  CHECK(antt.test->t == Approx(2 / std::sqrt(13.0 / 3)));
}

TEST_CASE("of unequally many replications those in both make pairs, all make samples", "[differences]") {
  const MadeFolders folders;
  MadeFolders::replications(folders.b(), {"11,1,,exact", "14,1,,exact"});
  MadeFolders::manifest(folders.b(), "1", 2);
  const MetricDifference pairs = folders.row("antt");
  CHECK(pairs.a.replications == 2);
  CHECK(*pairs.a.mean == Approx(11));
  CHECK(*pairs.difference == Approx(1.5));
  CHECK(conclusions(folders.compare())[0] ==
        "Paired by replication, because both drew the same random numbers (seed 1): 2 pairs. A has 1 "
        "replication more, which is left out.");
  MadeFolders::manifest(folders.b(), "2", 2);
  const MetricDifference samples = folders.row("antt");
  CHECK(samples.a.replications == 3);
  CHECK(*samples.difference == Approx(0.5));
}

TEST_CASE("what has no value in every replication is not tested, and says why", "[differences]") {
  const MadeFolders folders;
  SECTION("somebody starves") {
    MadeFolders::replications(folders.b(), {"11,1,,exact", ",1,web,exact", "17,1,,exact"});
    const MetricDifference antt = folders.row("antt");
    CHECK(antt.finding == Finding::untested);
    CHECK(antt.reason == "web finished nothing in 1 of 3 replications of B");
    CHECK_FALSE(antt.b.mean);
    CHECK_FALSE(antt.difference);
  }
  SECTION("a percentile is a lower bound") {
    MadeFolders::replications(folders.a(), {"10,1,,exact", "12,1,,lower-bound", "14,1,,exact"});
    const MetricDifference p99 = folders.row("p99_response_ns");
    CHECK(p99.finding == Finding::untested);
    CHECK(p99.reason == "a lower bound in 1 of 3 replications of A");
    CHECK_FALSE(p99.difference);
    CHECK(folders.row("antt").test);
  }
  SECTION("a percentile of a service is one") {
    MadeFolders::services(folders.a(), {"5,10,", "5,11,", "5,13,"});
    MadeFolders::services(folders.b(), {"5,10,", "5,8,p99|p999", "5,13,"});
    CHECK(folders.row("latency_ns_p99").reason == "a lower bound in 1 of 3 replications of B");
    MadeFolders::services(folders.b(), {"5,10,", "5,14,p999", "5,13,"});
    CHECK(folders.row("latency_ns_p99").client == "web");
    CHECK(folders.row("latency_ns_p99").test);
  }
  SECTION("a lower bound that bears the difference all the same") {
    const auto services = [](const fs::path& folder, const std::vector<std::string>& rows) {
      std::string text =
          "point,policy,client,replication,jobs,latency_ns_p99,lower_bounds,latency_ns_p99_most\n";
      for (std::size_t r = 0; r < rows.size(); ++r) text += fmt::format("0,p,web,{},5,{}\n", r, rows[r]);
      write_file(folder / "service_replications.csv", text);
    };
    services(folders.a(), {"10,p99,11", "11,,11", "12,p99,14"});
    services(folders.b(), {"20,p99,22", "22,,22", "23,p99,24"});
    // The least difference is of A's most and B's least: 9, 11, 9.
    const MetricDifference row = folders.row("latency_ns_p99");
    REQUIRE(row.test);
    CHECK(row.at_least);
    CHECK(row.a.is == Certainty::at_least);
    CHECK(row.b.is == Certainty::at_least);
    CHECK(certainty_of_difference(row) == Certainty::at_least);
    CHECK(row.reason.empty());
    CHECK(*row.a.mean == Approx(11));
    CHECK(row.test->p >= paired_t_test({11, 11, 14}, {20, 22, 23})->p);
    CHECK(*row.difference == Approx(29. / 3));
    CHECK(row.test->low == Approx(paired_t_test({11, 11, 14}, {20, 22, 23})->low));
    CHECK(*row.relative() == Approx(29. / 3 / 12));  // of A's most: 12
    CHECK(in_words(row, folders.compare()) == "B is at least 81 % higher");
    // A may be as large as it likes, so nothing says that B is larger; nor smaller.
    services(folders.a(), {"10,p99,", "11,,11", "12,p99,14"});
    CHECK(folders.row("latency_ns_p99").finding == Finding::untested);
    // But whoever is larger may be larger still.
    services(folders.a(), {"10,p99,11", "11,,11", "12,p99,14"});
    services(folders.b(), {"20,p99,", "22,,22", "23,p99,"});
    CHECK(folders.row("latency_ns_p99").at_least);
    // Where the sides overlap, nobody is known to be larger.
    services(folders.b(), {"10,p99,12", "11,,11", "13,p99,13"});
    CHECK(folders.row("latency_ns_p99").reason == "a lower bound in 2 of 3 replications of A");
  }
  SECTION("averages are bounds") {
    const auto replications = [](const fs::path& folder, const std::vector<std::string>& rows) {
      std::string text = "point,policy,replication,antt,stp,dntt,understated\n";
      for (std::size_t r = 0; r < rows.size(); ++r) text += fmt::format("0,p,{},{}\n", r, rows[r]);
      write_file(folder / "replications.csv", text);
    };
    replications(folders.a(), {"10,1.0,3,", "11,1.1,2,", "12,1.1,4,"});
    replications(folders.b(), {"5,0.5,9,web", "6,0.7,8,", "6,0.5,7,batch|web"});
    // B's ANTT is 5 or more: nothing says that it is less than A's.
    CHECK(folders.row("antt").reason == "a lower bound in 2 of 3 replications of B");
    // Its STP is 0.5 or less.
    CHECK(folders.row("stp").at_least);
    CHECK(*folders.row("stp").difference < 0);
    CHECK(folders.row("stp").a.is == Certainty::exact);
    CHECK(folders.row("stp").b.is == Certainty::at_most);
    CHECK(certainty_of_difference(folders.row("stp")) == Certainty::at_most);
    CHECK(certainty_of_difference(folders.row("antt")) == Certainty::exact);
    CHECK(folders.row("dntt").b.is == Certainty::rough);
    CHECK(folders.row("dntt").reason ==
          "open because of unfinished or killed jobs in 2 of 3 replications of B");
    CHECK(conclusions(folders.compare()).back() ==
          "B, p: unfinished or killed jobs of batch, web make its averages bounds.");
    // More than A's, however it ends.
    replications(folders.b(), {"15,1.5,9,web", "17,1.7,8,", "19,1.6,7,batch|web"});
    CHECK(folders.row("antt").at_least);
    CHECK(*folders.row("antt").difference > 0);
    CHECK(folders.row("stp").reason == "an upper bound in 2 of 3 replications of B");
  }
  SECTION("a service finished nothing on either side") {
    for (const fs::path& folder : {folders.a(), folders.b()})
      write_file(folder / "service_replications.csv",
                 "point,policy,client,replication,jobs,starved_runs,latency_ns_p99,lower_bounds,attainment\n"
                 "0,p,web,0,0,1,,,\n0,p,web,1,0,1,,,\n0,p,web,2,0,1,,,\n");
    CHECK(folders.row("latency_ns_p99").reason == "web finished nothing in 3 of 3 replications of A");
    for (const MetricDifference& row : folders.compare().rows) CHECK(row.metric != "attainment");
  }
  SECTION("a policy failed") {
    MadeFolders::replications(folders.a(), {"10,1,,exact", "12,1,,exact"}, {"1,1,,exact", "2,1,,exact"});
    MadeFolders::summary(folders.b(), "crashed");
    const Differences got = folders.compare();
    const auto q = std::find_if(got.rows.begin(), got.rows.end(),
                                [](const MetricDifference& row) { return row.policy == "q"; });
    REQUIRE(q != got.rows.end());
    CHECK(q->reason == "no results in B");
  }
}

TEST_CASE("a difference that every replication shares needs no test", "[differences]") {
  const MadeFolders folders;
  MadeFolders::replications(folders.b(), {"11,2,,exact", "13,2,,exact", "15,2,,exact"});
  for (const char* metric : {"antt", "p99_response_ns"}) {
    const MetricDifference row = folders.row(metric);
    CHECK(row.finding == Finding::exact);
    CHECK(*row.difference == Approx(1));
    CHECK_FALSE(row.test);
  }
  CHECK(folders.compare().tests() == 0);
}

TEST_CASE("with one replication nothing is said of chance, but how to get more", "[differences]") {
  const MadeFolders folders;
  fs::remove(folders.a() / "replications.csv");
  MadeFolders::manifest(folders.a(), "1", 1);
  const MetricDifference antt = folders.row("antt");
  CHECK(antt.reason == "one replication");
  CHECK(*antt.a.mean == 1);  // of summary.csv
  CHECK(*antt.difference == Approx(10));
  const auto said = conclusions(folders.compare());
  CHECK(said[0].find("Chance cannot be judged") == 0);
  CHECK(said[1] ==
        fmt::format("{0} has one replication: `gangway run {0}/manifest.json --set replications=20 "
                    "--out NEW` plays more.",
                    folders.a().string()));
  SECTION("nor where a program of old kept none") {
    MadeFolders::manifest(folders.a(), "1", 3);
    CHECK(folders.row("antt").reason == "A has no replications.csv");
    CHECK(conclusions(folders.compare())[1].find("without replications.csv") != std::string::npos);
  }
}

TEST_CASE("policies of one folder are compared with a baseline", "[differences]") {
  const MadeFolders folders;
  MadeFolders::replications(folders.a(), {"10,1,,exact", "12,1,,exact", "14,1,,exact"},
                            {"11,1,,exact", "14,1,,exact", "17,1,,exact"});
  const Differences got = differences_to_baseline(folders.a(), "p", {});
  REQUIRE(got.rows.size() == 2);
  CHECK(got.paired);
  CHECK(got.rows[0].policy == "q");
  CHECK(*got.rows[0].difference == Approx(2));
  CHECK(in_words(got.rows[0], got) == "may be chance");  // 1, 2, 3: p is 0.07
  const auto words = [&](const std::string& of_q) {
    MadeFolders::replications(folders.a(), {"1000,1,,exact", "1000,1,,exact"}, {of_q, of_q});
    const Differences again = differences_to_baseline(folders.a(), "p", {"antt"});
    return in_words(again.rows.at(0), again);
  };
  CHECK(words("1994,1,,exact") == "q is 99 % higher, in every replication");
  CHECK(words("1996,1,,exact") == "q is 99.6 % higher, in every replication");
  CHECK(words("1999.9,1,,exact") == "q is 100 % higher, in every replication");
  CHECK(words("3004,1,,exact") == "q is 200 % higher, in every replication");
  MadeFolders::replications(folders.a(), {"10,1,,exact", "12,1,,exact", "14,1,,exact"},
                            {"11,1,,exact", "14,1,,exact", "17,1,,exact"});
  CHECK(*differences_to_baseline(folders.a(), "q", {"antt"}).rows.at(0).difference == Approx(-2));
  CHECK(refused([&] { differences_to_baseline(folders.a(), "r", {}); }) ==
        "--baseline: key 'policy': found 'r', expected one of p, q");
}

TEST_CASE("many tests are corrected for together", "[differences]") {
  const MadeFolders folders;
  MadeFolders::replications(folders.b(), {"11,2,,exact", "14,4,,exact", "17,7,,exact"});
  const MetricDifference antt = folders.row("antt"), p99 = folders.row("p99_response_ns");
  CHECK(*antt.p_holm == Approx(std::min(1.0, 2 * antt.test->p)));  // the smaller one
  CHECK(antt.test->p < p99.test->p);
  CHECK(*p99.p_holm == Approx(std::max(p99.test->p, *antt.p_holm)));
  const auto json = to_json(folders.compare());
  CHECK(json["tests"] == 2);
  CHECK(json["test"] == "paired");
  CHECK(json["rows"][0]["p"].get<double>() == antt.test->p);
  CHECK(json["rows"][0]["client"].is_null());
}

TEST_CASE("what is asked for must be there, of results of one world", "[differences]") {
  const MadeFolders folders;
  CHECK(folders.compare({"antt"}).tests() == 1);
  CHECK(refused([&] { folders.compare({"speed"}); }) ==
        "--metrics: key 'metric': found 'speed', expected one of antt, p99_response_ns");
  CHECK(refused([] { parse_metrics("--metrics", "antt,"); }).find("found ''") != std::string::npos);
  CHECK(refused([] { parse_metrics("--metrics", "antt,antt"); }).find("distinct names of columns") !=
        std::string::npos);
  CHECK(parse_metrics("--metrics", "").empty());
  MadeFolders::replications(folders.a(), {"10,1,,exact"});
  write_file(folders.a() / "replications.csv",
             read_file(folders.a() / "replications.csv") + "0,p,0,11,1,,exact\n");
  CHECK(refused([&] { folders.compare(); }).find("replications.csv:3: key 'row': found the same key") !=
        std::string::npos);
  MadeFolders::manifest(folders.b(), "1", 3, "cuda");
  CHECK_FALSE(differences_between(compare_folders(folders.a(), folders.b()), {}));
  CHECK(refused([&] {
          differences_between(compare_folders(folders.a(), folders.b()), {"antt"});
        }).find("found 'sim' and 'cuda'") != std::string::npos);
}
