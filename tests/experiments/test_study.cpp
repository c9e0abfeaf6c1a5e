// Studies on several threads.
#include <fstream>

#include "experiments/results/files.hpp"
#include "experiments/studies/study_runner.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {

TEST_CASE("a study has the same bytes with one thread and with eight") {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch / "small.yaml";
  std::ofstream(file)
      << "kind: study\nversion: 1\nname: small\n"
         "generator: {name: uunifast-discard, params: {tasks: 3, threads: 6, shortest: 5, longest: 20}}\n"
         "orders: [became-head, release-ready]\nsets: 12\ntasks: true\nsimulate: {jobs: 20}\n"
         "search: {steps: 5}\nsweep:\n  generator.params.utilisation: [0.3, 0.8]\n";
  const Study study = read_study(read_configuration(file.string()), {});
  for (const unsigned threads : {1U, 8U}) {
    StudyOptions options;
    options.out = scratch / std::to_string(threads);
    options.threads = threads;
    CHECK(run_study(study, options, std::atomic<bool>(false)).sets == 48);  // 12 at two points in two orders
  }
  for (const char* name : {"summary.csv", "tasks.csv"}) {
    const std::string one = read_file(scratch / "1" / name);
    CHECK(one.size() > 100);
    CHECK(one == read_file(scratch / "8" / name));
  }
}

}  // namespace gangway::testing
