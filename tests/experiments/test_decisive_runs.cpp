#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "experiments/comparing/compare.hpp"
#include "experiments/results/files.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
namespace fs = std::filesystem;

namespace {

struct Values {
  double antt, dntt, stp;
};

// A result of `runs` runs in each of `replications`, with clients A and B; the NTT of B's job in run r of
// replication p is b(p, r), that of A's is 1.
void write_result(const fs::path& folder, const Values& values, int replications, int runs,
                  const std::function<std::string(int, int)>& b) {
  make_folder(folder);
  write_file(folder / "manifest.json", R"({"kind": "result", "experiment": "e", "world": "sim"})");
  write_file(
      folder / "summary.csv",
      fmt::format("point,policy,antt,dntt,stp,makespan_ns,evictions,eviction_delay_ns_mean,utilisation\n"
                  "0,rr,{},{},{},100,4,10,0.5\n",
                  values.antt, values.dntt, values.stp));
  write_file(folder / "clients.csv",
             "point,policy,client,ntt,response_ns_mean,standalone_ns\n0,rr,A,1,10,5\n0,rr,B,3,10,5\n");
  std::string jobs = "point,policy,replication,permutation,client,job,ntt\n";
  for (int p = 0; p < replications; ++p)
    for (int r = 0; r < runs; ++r)
      jobs += fmt::format("0,rr,{},{},A,0,1\n0,rr,{},{},B,0,{}\n", p, r, p, r, b(p, r));
  write_file(folder / "jobs.csv", jobs);
}

std::string always_3(int, int) { return "3"; }

const Values kAlways3{2, 1, 1 + 1.0 / 3};

}  // namespace

TEST_CASE("a run that alone decides how far off a prediction is, worked out by hand") {
  const testing::ScratchFolder root;
  const fs::path a = root / "a", b = root / "b";
  const auto decisive = [&] { return compare_folders(a, b).groups.at(0).decisive; };
  SECTION("of ten") {
    // B's mean is 4 where 3 is predicted: ANTT 2.5 for 2, DNTT 1.5 for 1, STP 5/4 for 4/3.
    write_result(a, kAlways3, 1, 10, always_3);
    write_result(b, {2.5, 1.5, 1.25}, 1, 10, [](int, int r) { return r == 7 ? "13" : "3"; });
    const auto found = decisive();
    REQUIRE(found.size() == 3);
    for (const std::size_t m : {0u, 1u, 2u}) {
      CHECK(found[m].metric == std::vector<std::string>{"antt", "dntt", "stp"}[m]);
      CHECK(found[m].replication == 0);
      CHECK(found[m].permutation == 7);
      CHECK(std::abs(found[m].without) < 1e-9);
    }
  }
  SECTION("in one of two replications, whose values are averaged") {
    // Without it, the means are those of 3 and 3.125 in the other: B's eighth run is 4.
    write_result(a, kAlways3, 2, 8, always_3);
    write_result(b, {(2 + 0.5 + 2 + 0.0625) / 2, (1.5 + 1.0625) / 2, (1 + 1.0 / 4 + 1 + 1 / 3.125) / 2}, 2, 8,
                 [](int p, int r) { return p == 0 && r == 2   ? "11"
                                           : p == 1 && r == 7 ? "4"
                                                              : "3"; });
    const auto found = decisive();
    REQUIRE(found.size() == 3);
    CHECK(found[0].permutation == 2);
    CHECK(found[0].without == Approx(2 / (2 + 0.03125) - 1));
    CHECK(found[1].without == Approx(1 / (1 + 0.03125) - 1));
    CHECK(found[2].without == Approx((1 + 1.0 / 3) / (1 + (1.0 / 3 + 1 / 3.125) / 2) - 1));
  }
  SECTION("not if all runs are off alike") {
    write_result(a, kAlways3, 1, 10, always_3);
    write_result(b, {2.5, 1.5, 1.25}, 1, 10, [](int, int) { return "4"; });
    CHECK(decisive().empty());
  }
  SECTION("not of few") {
    write_result(a, kAlways3, 1, 9, always_3);
    write_result(b, {2.5, 1.5, 1.25}, 1, 9, [](int, int r) { return r == 7 ? "12" : "3"; });
    CHECK(decisive().empty());
  }
  SECTION("not of an error below 1 %") {
    write_result(a, kAlways3, 1, 10, always_3);
    write_result(b, {2.005, 1.005, 1 + 1 / 3.01}, 1, 10, [](int, int r) { return r == 7 ? "3.1" : "3"; });
    CHECK(decisive().empty());
  }
  SECTION("not if jobs are unfinished") {
    // The other ten have the values of the summary.
    write_result(a, kAlways3, 1, 11, [](int, int r) { return r == 0 ? "" : "3"; });
    write_result(b, {2.5, 1.5, 1.25}, 1, 11, [](int, int r) { return r == 7 ? "13" : "3"; });
    CHECK(decisive().empty());
    write_result(a, kAlways3, 1, 11, always_3);
    write_result(b, {27.0 / 11, 16.0 / 11, 1 + 11.0 / 43}, 1, 11,
                 [](int, int r) { return r == 7 ? "13" : "3"; });
    CHECK(decisive().size() == 3);
  }
  SECTION("not if what is measured is 0, and all errors infinite") {
    write_result(a, {1.5, 0.5, 1.5}, 1, 10, [](int, int) { return "2"; });
    write_result(b, {1, 0, 2}, 1, 10, [](int, int) { return "1"; });
    CHECK(decisive().empty());
  }
  SECTION("also where the others have no deviation, in either folder") {
    // B is 1 but for one run: 1.2 on the mean, 1.1 predicted.
    write_result(a, {1.05, 0.05, 1 + 1 / 1.1}, 1, 10, [](int, int r) { return r == 7 ? "2" : "1"; });
    write_result(b, {1.1, 0.1, 1 + 1 / 1.2}, 1, 10, [](int, int r) { return r == 7 ? "3" : "1"; });
    const auto found = decisive();
    REQUIRE(found.size() == 3);
    for (const DecisiveRun& run : found) CHECK(std::abs(run.without) < 1e-9);
  }
  SECTION("not where the summary has other values, such as bounds") {
    write_result(a, kAlways3, 1, 10, always_3);
    write_result(b, {2.6, 1.6, 1.26}, 1, 10, [](int, int r) { return r == 7 ? "13" : "3"; });
    CHECK(decisive().empty());
  }
}
