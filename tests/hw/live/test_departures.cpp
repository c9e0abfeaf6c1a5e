// The client's notes of when its kernels left, as the daemon reads them.
#include <memory>
#include <vector>

#include "hw/live/departures.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

using Moments = std::vector<std::int64_t>;  // told, left, again, kernels, of each

Moments noted(const ClientPage& page) {
  Moments all;
  for (std::uint64_t d = 0; d < page.departures.load(); ++d) {
    const DepartureSlot& slot = page.departure[d % kDepartures];
    CHECK(slot.number.load() == d + 1);
    for (const std::int64_t time : {slot.told.load(), slot.left.load(), slot.again.load()})
      all.push_back(time);
    all.push_back(static_cast<std::int64_t>(slot.kernels.load()));
  }
  return all;
}

}  // namespace

TEST_CASE("kernels that leave at one closing of the gate are one departure", "[live]") {
  const auto page = std::make_unique<ClientPage>();
  Departures departures;
  departures.go_on(5);
  departures.told(10);
  departures.left(*page, 2, 12);
  departures.left(*page, 1, 15);
  CHECK(noted(*page) == Moments{10, 15, 0, 3});
  departures.go_on(30);
  departures.go_on(31);
  departures.told(40);
  departures.go_on(50);  // nothing had left
  CHECK(noted(*page) == Moments{10, 15, 30, 3});
}

TEST_CASE("a kernel that leaves when the gate is open again has a departure of its own", "[live]") {
  const auto page = std::make_unique<ClientPage>();
  Departures departures;
  departures.told(10);
  departures.left(*page, 1, 12);
  departures.go_on(30);
  departures.left(*page, 1, 33);  // told at 10, too, but the client went on at 30, so from then on
  departures.go_on(33);
  CHECK(noted(*page) == Moments{10, 12, 30, 1, 31, 33, 33, 1});
  departures.told(40);
  departures.go_on(41);
  departures.left(*page, 1, 45);
  departures.go_on(45);
  CHECK(noted(*page) == Moments{10, 12, 30, 1, 31, 33, 33, 1, 40, 45, 45, 1});
}

}  // namespace gangway::live
