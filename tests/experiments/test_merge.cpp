// Parts of results, joined one at a time.
#include <fstream>
#include <iterator>

#include "experiments/results/merge.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/fig4.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::kFig4;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

const std::atomic<bool> kGoOn = false;

Experiment six_points() {
  return read_experiment(kFig4, {{"published", "[]"},
                                 {"replications", "1"},
                                 {"permutations", "1"},
                                 {"policies", "[sjf, fcfs]"},
                                 {"sweep", "{workload.arrivals.gap: {from: 1 ms, to: 6 ms, step: 1 ms}}"}});
}

void play_into(const fs::path& out, const std::string& points = "") {
  const Experiment experiment = six_points();
  RunOptions options;
  options.out = out;
  options.world = &Worlds::named("sim", "test", "world");
  options.threads = 1;
  if (!points.empty()) options.points = PointSet::parse(points, experiment.points.size());
  run_experiment(experiment, options, kGoOn);
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check_same_tables(const fs::path& one, const fs::path& other) {
  for (const char* name : {"summary.csv", "clients.csv", "jobs.csv", "published.csv"}) {
    CHECK_FALSE(bytes_of(one / name).empty());
    CHECK(bytes_of(one / name) == bytes_of(other / name));
  }
}

}  // namespace

TEST_CASE("parts are added one at a time, and another merge goes on from there", "[merge]") {
  const ScratchFolder scratch;
  play_into(scratch / "whole");
  for (const char* points : {"0,3", "1-2", "4-5"}) play_into(scratch / points, points);
  {
    PartFile part(scratch / "1-2");
    Merge merge(part, scratch / "out", false);
    CHECK(merge.points() == 6);
    CHECK(merge.missing().text() == "0-5");
    CHECK(merge.add(part, kGoOn));
    CHECK(merge.missing().text() == "0,3-5");
    CHECK_THROWS_WITH(merge.finish("test"), Catch::Matchers::ContainsSubstring("no results of 0, 3-5"));
    CHECK_THROWS_WITH(merge.expect_all(PointSet::parse("3-4", 6)),
                      Catch::Matchers::ContainsSubstring("no results of 0, 5"));
    CHECK_FALSE(fs::exists(scratch / "out" / "summary.csv"));
  }
  // A part may be a file under any name, or its bytes.
  fs::copy_file(ResultParts::store_of(scratch / "0,3"), scratch / "chunk");
  PartFile file(scratch / "chunk");
  PartFile bytes(bytes_of(ResultParts::store_of(scratch / "4-5")), "from a worker");
  CHECK(bytes.points(6).text() == "4-5");
  Merge merge(file, scratch / "out", false);
  CHECK(merge.missing().text() == "0,3-5");
  CHECK(merge.add(file, kGoOn));
  CHECK(merge.add(bytes, kGoOn));
  CHECK(merge.add(bytes, kGoOn));  // as a retry may
  CHECK(merge.missing().empty());
  const auto report = std::get<RunReport>(merge.finish("test"));
  CHECK(report.groups == 12);
  CHECK(report.account.merged_parts == 4);
  CHECK(merge.complete());
  check_same_tables(scratch / "out", scratch / "whole");
}

TEST_CASE("a merge that is stopped in a part has none of it", "[merge]") {
  const ScratchFolder scratch;
  play_into(scratch / "whole");
  play_into(scratch / "0-2", "0-2");
  play_into(scratch / "2-5", "2-5");
  PartFile first(scratch / "0-2"), second(scratch / "2-5");
  const std::atomic<bool> stop = true;
  {
    Merge merge(first, scratch / "out", false);
    CHECK_FALSE(merge.add(first, stop));
    CHECK(merge.missing().text() == "0-5");
    CHECK(merge.add(second, kGoOn));
    CHECK_FALSE(merge.add(first, stop));
    CHECK(merge.missing().text() == "0-1");
  }
  const std::vector<fs::path> parts{scratch / "0-2", scratch / "2-5"};
  CHECK(merge_parts(parts, scratch / "out", false, "test", kGoOn).parts_added == 2);
  check_same_tables(scratch / "out", scratch / "whole");
  CHECK(merge_parts(parts, scratch / "out", false, "test", kGoOn).was_complete);
}

TEST_CASE("a run goes on from what a merge left", "[merge]") {
  const ScratchFolder scratch;
  play_into(scratch / "whole");
  play_into(scratch / "1-4", "1-4");
  {
    PartFile part(scratch / "1-4");
    CHECK(Merge(part, scratch / "out", false).add(part, kGoOn));
  }
  play_into(scratch / "out");
  check_same_tables(scratch / "out", scratch / "whole");
}
