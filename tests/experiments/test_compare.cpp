#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/comparing/compare.hpp"
#include "experiments/results/files.hpp"
#include "models/error.hpp"
#include "models/input/table.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

const std::string kSummary =
    "point,policy,gap,antt,dntt,stp,makespan_ns,evictions,eviction_delay_ns_mean,utilisation\n";
const std::string kClients = "point,policy,client,ntt,response_ns_mean,standalone_ns\n";
const std::string kJobs = "point,policy,replication,permutation,client,job,ntt\n";
const std::string kManifest = R"({"kind": "result", "experiment": "e", "world": "sim"})";

// The message of the InputError that a call ends with; the two versions of Catch2 match texts differently.
template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

// Two folders of the test's own, removed at its end.
struct Folders {
  Folders() {
    for (const fs::path& folder : {a(), b()}) {
      make_folder(folder);
      write_file(folder / "manifest.json", kManifest);
      summary(folder, "0,rr,1 ms,2,1,3,100,4,10,0.5\n");
      clients(folder, "0,rr,A,2,10\n");
      jobs(folder, "0,rr,0,0,A,0,2\n");
    }
  }
  fs::path a() const { return root / "a"; }
  fs::path b() const { return root / "b"; }
  static void summary(const fs::path& folder, const std::string& rows) {
    write_file(folder / "summary.csv", kSummary + rows);
  }
  static void clients(const fs::path& folder, const std::string& rows) {
    std::string text;
    for (const char c : rows) text += c == '\n' ? ",5\n" : std::string(1, c);  // all take as long alone
    write_file(folder / "clients.csv", kClients + text);
  }
  static void jobs(const fs::path& folder, const std::string& rows) {
    write_file(folder / "jobs.csv", kJobs + rows);
  }
  Comparison compare() const { return compare_folders(a(), b()); }
  void refused(const std::string& message) const {
    const std::string said = refusal([this] { compare(); });
    CAPTURE(said, message);
    CHECK(said.find(message) != std::string::npos);
  }
  ScratchFolder root;
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a folder compared with itself differs nowhere") {
  const Folders folders;
  const Comparison same = compare_folders(folders.a(), folders.a());
  CHECK(same.ntt.jobs == 1);
  CHECK(same.ntt.max == 0);
  for (const Compared& metric : same.groups[0].metrics) CHECK(*metric.relative_error() == 0);
  CHECK(same.unmatched.empty());
}

TEST_CASE("errors of jobs are relative to the measurement, matched by key, worked out by hand") {
  Folders folders;
  Folders::clients(folders.a(), "0,rr,A,2,10\n0,rr,B,3,20\n");
  Folders::clients(folders.b(), "0,rr,A,4,8\n0,rr,B,3,20\n");
  // +10%, -20%, 0, +50%; order of rows does not matter.
  Folders::jobs(folders.a(), "0,rr,0,0,A,0,1.1\n0,rr,0,0,A,1,4\n0,rr,0,1,B,0,3\n0,rr,1,0,B,0,3\n");
  Folders::jobs(folders.b(), "0,rr,1,0,B,0,2\n0,rr,0,0,A,0,1\n0,rr,0,0,A,1,5\n0,rr,0,1,B,0,3\n");
  const Comparison got = folders.compare();
  for (const JobErrors& errors : {got.ntt, got.groups[0].ntt}) {
    CHECK(errors.jobs == 4);
    CHECK(errors.p50 == Approx(0.1));  // of 0 0.1 0.2 0.5, nearest rank
    CHECK(errors.p90 == Approx(0.5));
    CHECK(errors.max == Approx(0.5));
    CHECK(errors.mean == Approx(0.2));
    CHECK(errors.bias == Approx(0.1));
    CHECK(errors.bias_p50 == Approx(0).margin(1e-12));  // of -0.2 0 0.1 0.5
  }
  REQUIRE(got.clients.size() == 2);
  CHECK(got.clients[0].client == "A");
  CHECK(*got.clients[0].metric("ntt").relative_error() == Approx(-0.5));
  CHECK(*got.clients[0].metric("response_ns_mean").relative_error() == Approx(0.25));
  CHECK(*got.clients[1].metric("ntt").relative_error() == 0);
  CHECK(got.unmatched.empty());
}

TEST_CASE("jobs that did not finish in both are counted, not compared") {
  Folders folders;
  Folders::jobs(folders.a(), "0,rr,0,0,A,0,\n0,rr,0,0,A,1,2\n0,rr,0,0,A,2,\n0,rr,0,0,A,3,\n0,rr,0,0,A,4,3\n");
  Folders::jobs(folders.b(),
                "0,rr,0,0,A,0,1\n0,rr,0,0,A,1,\n0,rr,0,0,A,2,\n0,rr,0,0,A,3,1\n0,rr,0,0,A,4,2\n");
  const Comparison got = folders.compare();
  CHECK(got.ntt.jobs == 1);
  CHECK(got.ntt.p50 == Approx(0.5));
  CHECK(got.unfinished.predicted == 2);
  CHECK(got.unfinished.measured == 1);
  CHECK(got.unfinished.both == 1);
}

TEST_CASE("limits of jobs take those that finished in one folder only for infinitely far off") {
  Folders folders;
  const auto errors = [&](int without) {
    std::string a, b;
    for (int job = 0; job < 10; ++job) {
      a += fmt::format("0,rr,0,0,A,{},{}\n", job, job < without ? "" : "1.1");
      b += fmt::format("0,rr,0,0,A,{},1\n", job);
    }
    Folders::jobs(folders.a(), a);
    Folders::jobs(folders.b(), b);
    const Comparison got = folders.compare();
    return std::pair(*value_of(got, "ntt_p50"), *value_of(got, "ntt_p90"));
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  CHECK(errors(0).second == Approx(0.1));
  CHECK(errors(1).second == Approx(0.1));  // nine of ten
  CHECK(errors(2).first == Approx(0.1));
  CHECK(errors(2).second == kInfinite);
  CHECK(errors(5).first == Approx(0.1));
  CHECK(errors(6).first == kInfinite);
  CHECK(errors(10).first == kInfinite);
}

TEST_CASE("bounds have no error, exceed every limit, and decide no order that they leave open") {
  Folders folders;
  const std::string header = kSummary.substr(0, kSummary.size() - 1) + ",unfinished,understated\n";
  const auto row = [](const char* policy, double antt, double stp, const char* clients) {
    return fmt::format("0,{},1 ms,{},1,{},100,1,1,1,{},{}\n", policy, antt, stp, *clients == 0 ? 0 : 3,
                       clients);
  };
  write_file(folders.a() / "summary.csv", header + row("rr", 2, 2, "") + row("srt", 3, 3, "A"));
  write_file(folders.b() / "summary.csv", header + row("rr", 3, 3, "") + row("srt", 2, 2, ""));
  const Comparison got = folders.compare();
  REQUIRE(got.groups.size() == 2);
  const GroupComparison& srt = got.groups[1];
  CHECK(srt.metric("antt").predicted_is == Certainty::at_least);
  CHECK(srt.metric("antt").measured_is == Certainty::exact);
  CHECK(srt.metric("makespan_ns").predicted_is == Certainty::at_least);
  CHECK_FALSE(srt.metric("antt").relative_error().has_value());
  CHECK(got.groups[0].metric("antt").relative_error() == Approx(-1.0 / 3));
  CHECK(value_of(got, "antt") == std::numeric_limits<double>::infinity());
  // Predicted, srt's ANTT is at least 3 and rr's 2, so the order is sure. STP is at most 3, so it is not.
  CHECK(got.rankings.at(0).swapped.size() == 1);
  CHECK(got.rankings.at(2).equal());
  const auto json = to_json(got);
  CHECK(json["groups"][1]["antt"]["predicted_is"] == "at least");
  CHECK(json["groups"][1]["antt"]["relative_error"].is_null());
  CHECK_FALSE(json["groups"][1]["antt"].contains("measured_is"));
}

TEST_CASE("a makespan is a lower bound if any job is unfinished, though no client is understated") {
  Folders folders;
  const std::string header = kSummary.substr(0, kSummary.size() - 1) + ",unfinished,understated\n";
  write_file(folders.a() / "summary.csv", header + "0,rr,1 ms,2,1,3,90,1,1,1,1,\n");
  write_file(folders.b() / "summary.csv", header + "0,rr,1 ms,2,1,3,100,1,1,1,0,\n");
  const GroupComparison group = folders.compare().groups.at(0);
  CHECK(group.metric("makespan_ns").bound());
  CHECK(group.metric("antt").relative_error() == 0);
}

TEST_CASE("errors of a point's metrics, with zeros and values that are not there") {
  Folders folders;
  Folders::summary(folders.a(), "0,rr,1 ms,2,1,3,110,0,,0.5\n");
  Folders::summary(folders.b(), "0,rr,1 ms,2.5,0,3,100,0,7,0.4\n");
  const Comparison got = folders.compare();
  std::vector<std::optional<double>> errors;
  for (const Compared& metric : got.groups[0].metrics) errors.push_back(metric.relative_error());
  CHECK(*errors[0] == Approx(-0.2));
  CHECK(*errors[1] == std::numeric_limits<double>::infinity());
  CHECK(*errors[2] == 0);
  CHECK(*errors[3] == Approx(0.1));
  CHECK(*errors[4] == 0);
  CHECK_FALSE(errors[5].has_value());
  CHECK(*errors[6] == Approx(0.25));
  const auto json = to_json(got);
  CHECK(json["groups"][0]["dntt"]["relative_error"].is_null());
  CHECK(json["groups"][0]["eviction_delay_ns_mean"]["predicted"].is_null());
  CHECK(json["groups"][0]["utilisation"]["relative_error"].get<double>() == Approx(0.25));
  CHECK(*value_of(got, "antt") == Approx(0.2));
  CHECK(*value_of(got, "dntt") == std::numeric_limits<double>::infinity());
}

TEST_CASE("rankings differ when two policies more than 5% apart in both folders changed places") {
  Folders folders;
  const auto row = [](const std::string& policy, double antt, double stp) {
    return fmt::format("0,{},1 ms,{},1,{},1,1,1,1\n", policy, antt, stp);
  };
  const auto ranking = [&](const std::string& a, const std::string& b, std::size_t which) {
    Folders::summary(folders.a(), a);
    Folders::summary(folders.b(), b);
    return folders.compare().rankings.at(which);
  };
  // rr and srt tie in the prediction; frs is last in both.
  const auto equal = ranking(row("frs", 5, 1) + row("rr", 2.05, 2) + row("srt", 2, 3),
                             row("frs", 6, 1) + row("rr", 2, 2) + row("srt", 3, 3), 0);
  CHECK(equal.metric == "antt");
  CHECK(equal.equal());
  CHECK(equal.predicted == Strings{"srt", "rr", "frs"});
  CHECK(equal.measured == Strings{"rr", "srt", "frs"});
  const auto swapped = ranking(row("frs", 5, 1) + row("rr", 2.2, 2) + row("srt", 2, 3),
                               row("frs", 6, 1) + row("rr", 2, 2) + row("srt", 3, 3), 0);
  CHECK_FALSE(swapped.equal());
  CHECK(swapped.swapped == std::vector<std::pair<std::string, std::string>>{{"rr", "srt"}});
  const Comparison got = folders.compare();
  CHECK(got.rankings.size() == 3);
  CHECK(*value_of(got, "ranking") == 1);
  CHECK(got.rankings[2].predicted == Strings{"srt", "rr", "frs"});  // of STP the largest first
}

TEST_CASE("rows of one folder only are counted, and the first are named") {
  Folders folders;
  Folders::summary(folders.b(), "0,frs,1 ms,2,1,3,100,4,10,0.5\n0,rr,1 ms,2,1,3,100,4,10,0.5\n");
  Folders::clients(folders.b(), "0,frs,A,2,10\n0,rr,A,2,10\n");
  std::string rows;
  for (int job = 0; job < 7; ++job) rows += fmt::format("0,frs,0,0,A,{},2\n", job);
  Folders::jobs(folders.b(), rows + "0,rr,0,0,A,0,2\n");
  Folders::jobs(folders.a(), "0,rr,0,0,A,0,2\n0,rr,0,3,A,1,2\n");
  const Comparison got = folders.compare();
  REQUIRE(got.unmatched.size() == 4);
  CHECK(got.unmatched[0].file == "summary.csv");
  CHECK_FALSE(got.unmatched[0].in_prediction);
  CHECK(got.unmatched[0].first == Strings{"0 frs"});
  CHECK(got.unmatched[1].first == Strings{"0 frs A"});
  CHECK(got.unmatched[2].in_prediction);
  CHECK(got.unmatched[2].first == Strings{"0 rr 0 3 A 1"});
  CHECK(got.unmatched[3].count == 7);
  CHECK(got.unmatched[3].first.size() == 5);
  CHECK(got.groups.size() == 1);
  CHECK(got.ntt.jobs == 1);
}

TEST_CASE("a policy with a result in one folder only exceeds every limit") {
  Folders folders;
  const std::string rr = "0,rr,1 ms,2,1,3,100,4,10,0.5", frs = "0,frs,1 ms,3,1,2,100,4,10,0.5";
  const auto summary = [](const fs::path& folder, const std::string& rows) {
    write_file(folder / "summary.csv", kSummary.substr(0, kSummary.size() - 1) + ",error\n" + rows);
  };
  const bool swap = GENERATE(false, true), missing = GENERATE(false, true);
  summary(swap ? folders.b() : folders.a(), frs + ",\n" + rr + ",\n");
  summary(swap ? folders.a() : folders.b(),
          frs + ",\n" + (missing ? "" : "0,rr,1 ms,,,,,,,,no room for it\n"));
  const Comparison got = folders.compare();
  REQUIRE(got.lacking.size() == 1);
  CHECK(got.lacking[0].policy == "rr");
  CHECK(got.lacking[0].in_prediction == swap);
  CHECK(got.lacking[0].why == (missing ? "missing" : "failed: no room for it"));
  for (const char* metric : {"antt", "dntt", "stp", "ntt_p50", "ntt_p90", "ranking"})
    CHECK(value_of(got, metric) == std::numeric_limits<double>::infinity());
  CHECK(to_json(got)["lacking"][0]["in"] == (swap ? "prediction" : "measurement"));
  if (missing) return;
  const RankingComparison& antt = got.rankings.at(0);  // rr is better where it has a value
  CHECK((swap ? antt.measured : antt.predicted) == Strings{"rr", "frs"});
  CHECK((swap ? antt.predicted : antt.measured) == Strings{"frs"});
  CHECK((swap ? antt.failed_predicted : antt.failed_measured) == Strings{"rr"});
  CHECK_FALSE(antt.equal());
}

TEST_CASE("a client in one folder only exceeds every limit") {
  Folders folders;
  for (const fs::path& folder : {folders.a(), folders.b()}) {
    const std::string row = ",2,4\n", other = folder == folders.a() ? "0,rr,B" + row : "";
    Folders::clients(folder, "0,rr,A" + row + other);
  }
  const Comparison got = folders.compare();
  CHECK(clients_differ(got));
  for (const char* metric : {"antt", "ntt_p50"})
    CHECK(value_of(got, metric) == std::numeric_limits<double>::infinity());
}

TEST_CASE("a policy that failed in both folders is in no ranking and exceeds no limit") {
  Folders folders;
  for (const fs::path& folder : {folders.a(), folders.b()})
    write_file(folder / "summary.csv", kSummary.substr(0, kSummary.size() - 1) +
                                           ",error\n0,frs,1 ms,3,1,2,100,4,10,0.5,\n0,rr,1 ms,,,,,,,,no\n");
  const Comparison got = folders.compare();
  CHECK(got.lacking.empty());
  CHECK(got.rankings.empty());
  CHECK(value_of(got, "antt") == 0);
}

TEST_CASE("folders of experiments with different names are refused") {
  Folders folders;
  write_file(folders.b() / "manifest.json", R"({"kind": "result", "experiment": "f", "world": "sim"})");
  folders.refused("b/manifest.json: key 'experiment': found 'f', expected 'e' as in ");
}

TEST_CASE("folders whose metrics are defined in different ways are refused") {
  Folders folders;
  const std::string begin = kManifest.substr(0, kManifest.size() - 1);
  write_file(folders.b() / "manifest.json", begin + R"(, "configuration": {"sigma": "population"}})");
  CHECK_NOTHROW(folders.compare());  // as is the usual one
  write_file(folders.b() / "manifest.json", begin + R"(, "configuration": {"sigma": "sample"}})");
  folders.refused("key 'configuration.sigma': found 'sample', expected 'population' as in");
  write_file(folders.b() / "manifest.json", begin + R"(, "configuration": {"standalone": "original"}})");
  folders.refused("key 'configuration.standalone': found 'original', expected 'transformed' as in");
}

TEST_CASE("folders without jobs.csv are compared without errors of jobs") {
  Folders folders;
  const bool wanted = GENERATE(false, true);
  fs::remove(folders.b() / "jobs.csv");
  if (!wanted)
    write_file(folders.b() / "manifest.json", R"({"kind": "result", "configuration": {"jobs": false}})");
  const Comparison got = folders.compare();
  CHECK(got.ntt.jobs == 0);
  CHECK_FALSE(got.measurement.has_jobs);
  CHECK_FALSE(value_of(got, "ntt_p50").has_value());
  CHECK_FALSE(value_of(got, "ranking").has_value());  // a single policy
}

TEST_CASE("what is no result folder, or not of the same experiment, is refused in one line") {
  Folders folders;
  SECTION("no folder") {
    fs::remove_all(folders.b());
    folders.refused("b: found no folder, expected a result folder");
  }
  SECTION("unfinished") {
    fs::remove(folders.b() / "manifest.json");
    folders.refused("b: found no manifest.json, expected a folder that `gangway run` finished");
  }
  SECTION("another manifest") {
    write_file(folders.b() / "manifest.json", "[1, 2]");
    folders.refused("manifest.json:1: key 'kind': found not the manifest of a result");
  }
  SECTION("a missing column") {
    write_file(folders.b() / "clients.csv", "point,policy,client,ntt\n0,rr,A,2\n");
    folders.refused("b/clients.csv:1: key 'response_ns_mean': found no such column");
  }
  SECTION("a column twice") {
    write_file(folders.b() / "clients.csv", "point,policy,client,ntt,ntt\n0,rr,A,2,3\n");
    folders.refused("b/clients.csv:1: key 'ntt': found two columns of that name, expected one");
  }
  SECTION("no number") {
    Folders::jobs(folders.b(), "0,rr,0,0,A,0,2\n0,rr,0,0,A,1,2 ms\n");
    folders.refused("b/jobs.csv:3: key 'ntt': found '2 ms', expected a number");
  }
  SECTION("not finite") {
    Folders::jobs(folders.b(), "0,rr,0,0,A,0,nan\n");
    folders.refused("b/jobs.csv:2: key 'ntt': found 'nan', expected a number");
  }
  SECTION("an NTT of 0") {
    Folders::jobs(folders.b(), "0,rr,0,0,A,0,0\n");
    folders.refused("b/jobs.csv:2: key 'ntt': found '0', expected a number above 0");
  }
  SECTION("a negative count") {
    Folders::jobs(folders.b(), "0,rr,0,-1,A,0,2\n");
    folders.refused("b/jobs.csv:2: key 'permutation': found '-1', expected a whole number from 0");
  }
  SECTION("an unknown client") {
    Folders::jobs(folders.b(), "0,rr,0,0,Z,0,2\n");
    folders.refused("b/jobs.csv:2: key 'client': found 'Z', expected a name from clients.csv");
  }
  SECTION("a row too short") {
    Folders::jobs(folders.b(), "0,rr,0,0,A,0\n");
    folders.refused("b/jobs.csv:2: key 'row': found 6 cells, expected 7");
  }
  SECTION("a job twice") {
    Folders::jobs(folders.b(), "0,rr,0,0,A,0,2\n0,rr,0,0,A,1,2\n0,rr,0,0,A,0,2\n");
    folders.refused("b/jobs.csv:4: key 'row': found the same key as in an earlier row");
  }
  SECTION("cut off") {
    write_file(folders.b() / "jobs.csv", kJobs + "0,rr,0,0,A,0,2\n0,rr,0,0,A,1,");
    folders.refused("b/jobs.csv:3: key 'row': found no end of the line");
  }
  SECTION("empty") {
    write_file(folders.b() / "summary.csv", "");
    folders.refused("b/summary.csv:1: key 'columns': found an empty file");
  }
  SECTION("other swept values") {
    Folders::summary(folders.b(), "0,rr,2 ms,2,1,3,100,4,10,0.5\n");
    folders.refused("b/summary.csv:2: key 'gap': found '2 ms', expected '1 ms' as in ");
  }
  SECTION("another swept parameter") {
    write_file(folders.b() / "summary.csv",
               "point,policy,think" + kSummary.substr(16) + "0,rr,1,2,1,3,1,4,1,1\n");
    folders.refused("b/summary.csv:1: key 'columns': found swept 'think', expected 'gap'");
  }
  SECTION("nothing in common") {
    Folders::summary(folders.b(), "0,frs,1 ms,2,1,3,100,4,10,0.5\n");
    folders.refused("b/summary.csv: found no point and policy of ");
  }
}

TEST_CASE("limits are read, and wrong ones refused") {
  const auto limits = parse_limits("--fail-above", "ntt_p50=0.05,ranking=0,antt=12 %");
  REQUIRE(limits.size() == 3);
  CHECK(limits[0].metric == "ntt_p50");
  CHECK(limits[0].most == 0.05);
  CHECK(limits[1].most == 0);
  CHECK(limits[2].most == Approx(0.12));
  for (const char* wrong :
       {"", "ntt_p50", "ntt_p50=", "ntt_p50=x", "ntt_p50=-1", "antt=1,", "=1", "antt=nan"})
    CHECK_THROWS_AS(parse_limits("--fail-above", wrong), InputError);
  CHECK(refusal([] { parse_limits("--fail-above", "nt_p50=1"); }).ends_with("(did you mean 'ntt_p50'?)"));
}

TEST_CASE("cells may be quoted") {
  Folders folders;
  write_file(folders.root / "t.csv", "a,\"b,c\",d\n\"1\",\"say \"\"x\"\", y\",\n");
  Table table(folders.root / "t.csv");
  CHECK(table.columns() == Strings{"a", "b,c", "d"});
  REQUIRE(table.next());
  CHECK(table.index(0) == 1);
  CHECK(table.text(1) == "say \"x\", y");
  CHECK_FALSE(table.number(2).has_value());
  CHECK_FALSE(table.next());
  for (const char* wrong : {"a\n\"1\n", "a\n\"1\"2\n", "a\n\"\n"}) {
    write_file(folders.root / "t.csv", wrong);
    Table bad(folders.root / "t.csv");
    CHECK_THROWS_AS(bad.next(), InputError);
  }
}
