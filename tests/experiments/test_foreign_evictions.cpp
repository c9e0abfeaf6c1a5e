#include "experiments/sweeps/foreign_evictions.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/fig4.hpp"

using namespace gangway;
using testing::kFig4;

TEST_CASE("evictions that were measured under another mechanism are noted", "[effect]") {
  using Lines = std::vector<std::string>;
  const auto noted = [](const std::string& measured, const std::string& policies) {
    return notes_of_foreign_evictions(
        read_experiment(kFig4, {{"published", "[]"},
                                {"policies", policies},
                                {"device.polls", "{host: 1 us, device: 0.4 us}"},
                                {"workload.clients.VA.kernels.0.measured", measured},
                                {"workload.clients.CEDD.kernels.0.measured", measured}}));
  };
  const std::string basic = "{mechanism: basic}";
  CHECK(noted(basic, "[rr]") ==
        Lines{"evictions of GCEDD, VA were measured under basic, which evicts in another way, so under "
              "flag-copy the simulator uses the rules of flag-copy"});
  CHECK(noted(basic, "[{name: rr, mechanism: basic}, fcfs, {name: srt, mechanism: ideal}]").empty());
  CHECK(noted(basic, "[rr, {name: srt, mechanism: proxy}]").size() == 2);
  CHECK(noted("{mechanism: flag-copy}", "[rr, {name: srt, mechanism: write-value}]").empty());
  CHECK(noted("{launch: 8 us}", "[rr, {name: srt, mechanism: proxy}]").empty());  // as in older files
}
