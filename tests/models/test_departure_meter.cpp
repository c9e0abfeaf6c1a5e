#include "models/metrics/departure_meter.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

Record departure(ClientId client, Mark mark, std::int64_t kernels) {
  Record made;
  made.job.client = client;
  made.mark = mark;
  made.amount = kernels;
  return made;
}

TEST_CASE("kernels that left count per run, for their client alone") {
  DepartureMeter meter(3);
  meter.record(departure(ClientId{0}, Mark::told_to_leave, 4));
  meter.record(departure(ClientId{0}, Mark::kernels_left, 2));
  meter.record(departure(ClientId{0}, Mark::kernels_go_on, 2));
  meter.record(departure(ClientId{0}, Mark::kernels_left, 1));
  meter.record(departure(ClientId{2}, Mark::kernels_left, 8));
  CHECK(meter.per_run(1) == std::vector<double>{3, 0, 8});
  CHECK(meter.per_run(4) == std::vector<double>{0.75, 0, 2});
}

}  // namespace
}  // namespace gangway
