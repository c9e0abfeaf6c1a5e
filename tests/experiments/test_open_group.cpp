#include "experiments/running/open_group.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

Played failure(const std::string& error) { return {std::nullopt, error, false}; }

}  // namespace

TEST_CASE("a replication that fails leaves those before it to be played, and their failure is the group's",
          "[open-group]") {
  const testing::ScratchFolder scratch;
  const Experiment experiment = read_experiment("frs/fig4", {{"replications", "3"}, {"published", "[]"}});
  ResultFolder folder(scratch.path() / "out", experiment,
                      key_of(experiment.identity, Worlds::named("sim", "test", "world"), {}), false);
  OpenGroup group(0, std::make_shared<OpenPoint>(0), 0);
  CHECK((group.needs(0) && group.needs(1) && group.needs(2)));
  // The second one is quicker than the first.
  CHECK_FALSE(group.take(1, failure("late"), experiment, folder));
  CHECK(group.needs(0));
  CHECK_FALSE(group.needs(2));
  CHECK(group.take(0, failure("early"), experiment, folder));
  CHECK(group.error() == "early");
  CHECK_FALSE(group.needs(1));
}

}  // namespace gangway
