// Clients' shares of the time slices, from records by hand.
#include <cmath>

#include "models/metrics/slice_meter.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

// "r0 l0 f0": released, launched and finished, by client.
void feed(SliceMeter& meter, const std::string& what) {
  for (std::size_t i = 0; i + 1 < what.size(); i += 3) {
    Record r;
    r.mark = what[i] == 'r' ? Mark::released : what[i] == 'l' ? Mark::launch_ordered : Mark::finished;
    r.job.client = ClientId{static_cast<std::uint32_t>(what[i + 1] - '0')};
    meter.record(r);
  }
}

}  // namespace

TEST_CASE("slices count while all clients have something to do", "[memory]") {
  SliceMeter meter(2);
  meter.reset();
  CHECK(std::isnan(meter.use()[0].share));
  feed(meter, "r0 l0 l0 r1 l0 l1 l1 l0 l1 f1 l0 l0 f0");
  // Of the launches 0 1 1 0 1.
  CHECK(meter.use()[0].share == 0.4);
  CHECK(meter.use()[1].share == 0.6);
  CHECK(meter.use()[0].in_a_row == 1);
  CHECK(meter.use()[1].in_a_row == 1.5);
  SECTION("over all runs, in which turns begin anew") {
    meter.reset();
    feed(meter, "r0 r1 l1 l1 l1 l1 l1");
    CHECK(meter.use()[1].share == 0.8);
    CHECK(meter.use()[1].in_a_row == 8 / 3.0);
  }
  SECTION("a client with several jobs is there until the last is finished") {
    meter.reset();
    feed(meter, "r0 r0 r1 f0 l1 f0 l1");
    CHECK(meter.use()[1].share == 4 / 6.0);
  }
}
