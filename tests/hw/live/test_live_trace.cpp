// Histories of live clients as traces, by hand.
#include <fmt/format.h>

#include "hw/live/live_trace.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

std::vector<std::string> lines(const std::vector<LiveHistory>& clients, Sharing sharing, Time end) {
  std::vector<std::string> out;
  for (const Record& r : live_trace(clients, sharing, end)) {
    std::string line = fmt::format("{} {}{} {}", r.time.ns, static_cast<char>('A' + r.job.client.index),
                                   r.job.number, name_of(r.mark));
    if (r.launch.value > 0) line += fmt::format(" {}", r.launch.value);
    if (r.mark == Mark::left) line += " " + name_of(r.why);
    out.push_back(line);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST_CASE("Jobs that nobody holds back are on the device from their first submission to their end",
          "[live]") {
  LiveHistory a, b;
  a.alone = Duration{30};
  a.jobs = {{Time{0}, Time{0}, Time{40}}, {Time{10}, Time{40}, Time{80}}};
  b.jobs = {{Time{20}, Time{25}, Time{60}}, {Time{60}, Time{60}, {}}};
  CHECK(lines({a, b}, Sharing::free, Time{100}) ==
        Lines{"0 A0 released", "0 A0 submitted 1", "0 A0 started 1", "10 A1 released", "20 B0 released",
              "25 B0 submitted 2", "25 B0 started 2", "40 A0 gone 1", "40 A0 finished", "40 A1 submitted 3",
              "40 A1 started 3", "60 B1 released", "60 B0 gone 2", "60 B0 finished", "60 B1 submitted 4",
              "60 B1 started 4", "80 A1 gone 3", "80 A1 finished", "100 A0 ended"});
  CHECK(live_trace({a}, Sharing::free, Time{100}).front().amount == 30);
}

TEST_CASE("A gate that closes inside a job evicts it under grants, and pauses it under access policies",
          "[live]") {
  LiveHistory a, b;
  a.jobs = {{Time{0}, Time{0}, Time{90}}};
  a.spans = {{Time{-5}, Time{30}, Time{20}}, {Time{60}, {}, {}}};
  b.jobs = {{Time{10}, Time{30}, Time{60}}};
  b.spans = {{Time{30}, Time{70}, {}}};
  CHECK(lines({a, b}, Sharing::granted, Time{100}) ==
        Lines{"0 A0 released", "0 A0 launch ordered 1", "0 A0 started 1", "10 B0 released",
              "20 A0 evict ordered 1", "30 A0 gone 1", "30 A0 left 1 evicted", "30 B0 launch ordered 2",
              "30 B0 started 2", "60 B0 gone 2", "60 B0 left 2 completed", "60 B0 finished",
              "60 A0 launch ordered 3", "60 A0 started 3", "90 A0 gone 3", "90 A0 left 3 completed",
              "90 A0 finished", "100 A0 ended"});
  CHECK(lines({a, b}, Sharing::accessed, Time{100}) ==
        Lines{"0 A0 released", "0 A0 submitted 1", "0 A0 started 1", "10 B0 released", "30 A0 paused 1",
              "30 B0 submitted 2", "30 B0 started 2", "60 B0 gone 2", "60 B0 finished", "60 A0 resumed 1",
              "90 A0 gone 1", "90 A0 finished", "100 A0 ended"});
}

TEST_CASE("An eviction lasts until the kernels are gone, though the next client has begun before", "[live]") {
  LiveHistory a, b;
  a.jobs = {{Time{0}, Time{0}, Time{90}}};
  a.spans = {{Time{0}, Time{21}, Time{20}, false, false, Time{35}}, {Time{60}, {}, {}}};
  b.jobs = {{Time{10}, Time{21}, Time{60}}};
  b.spans = {{Time{21}, Time{70}, {}, false, false, Time{70}}};
  CHECK(lines({a, b}, Sharing::granted, Time{100}) ==
        Lines{"0 A0 released", "0 A0 launch ordered 1", "0 A0 started 1", "10 B0 released",
              "20 A0 evict ordered 1", "21 A0 left 1 evicted", "21 B0 launch ordered 2", "21 B0 started 2",
              "35 A0 gone 1", "60 B0 gone 2", "60 B0 left 2 completed", "60 B0 finished",
              "60 A0 launch ordered 3", "60 A0 started 3", "90 A0 gone 3", "90 A0 left 3 completed",
              "90 A0 finished", "100 A0 ended"});
  // A job that ends with these kernels is on the device no longer than them.
  a.jobs = {{Time{0}, Time{0}, Time{30}}};
  a.spans = {{Time{0}, Time{21}, Time{20}, false, false, Time{35}}};
  CHECK(lines({a}, Sharing::granted, Time{100}) ==
        Lines{"0 A0 released", "0 A0 launch ordered 1", "0 A0 started 1", "20 A0 evict ordered 1",
              "21 A0 left 1 completed", "30 A0 gone 1", "30 A0 finished", "100 A0 ended"});
}

TEST_CASE("Kernels that left and went on are the client's job's of then", "[live]") {
  LiveHistory a, b;
  a.jobs = {{Time{0}, Time{0}, Time{20}}, {Time{20}, Time{20}, Time{90}}};
  a.spans = {{Time{0}, Time{30}, Time{25}}, {Time{60}, {}, {}}};
  a.departures = {{Time{26}, Time{29}, Time{61}, 3}, {Time{70}, Time{120}, {}, 1}};
  b.departures = {{Time{40}, Time{41}, Time{42}, 1}};  // of no job
  CHECK(lines({a, b}, Sharing::granted, Time{100}) ==
        Lines{"0 A0 released",         "0 A0 launch ordered 1",  "0 A0 started 1",
              "20 A1 released",        "20 A0 gone 1",           "20 A0 left 1 completed",
              "20 A0 finished",        "20 A1 launch ordered 2", "20 A1 started 2",
              "25 A1 evict ordered 2", "26 A1 told to leave",    "29 A1 kernels left",
              "30 A1 gone 2",          "30 A1 left 2 evicted",   "60 A1 launch ordered 3",
              "60 A1 started 3",       "61 A1 kernels go on",    "70 A1 told to leave",
              "90 A1 gone 3",          "90 A1 left 3 completed", "90 A1 finished",
              "100 A0 ended"});
  for (const Record& record : live_trace({a}, Sharing::granted, Time{100}))
    if (record.mark == Mark::kernels_left) CHECK(record.amount == 3);
}

TEST_CASE("A grant that ends without an order was idle, and counts as no eviction", "[live]") {
  LiveHistory a;
  a.jobs = {{Time{0}, Time{0}, Time{90}}};
  a.spans = {{Time{0}, Time{30}, {}}, {Time{60}, {}, {}}};
  CHECK(lines({a}, Sharing::granted, Time{100})[4] == "30 A0 left 1 idle");
}

TEST_CASE("A grant that ends behind a slice had its budget", "[live]") {
  LiveHistory a;
  a.jobs = {{Time{0}, Time{0}, Time{90}}};
  a.spans = {{Time{0}, Time{30}, {}, true}, {Time{60}, {}, {}, true}};
  CHECK(lines({a}, Sharing::granted, Time{100})[4] == "30 A0 left 1 budget");
}

TEST_CASE("A job that is evicted and does not come back is not completed", "[live]") {
  LiveHistory a;
  a.jobs = {{Time{0}, Time{0}, {}}};
  a.spans = {{Time{0}, Time{30}, Time{20}}};
  CHECK(lines({a}, Sharing::granted, Time{100})[5] == "30 A0 left 1 evicted");
  CHECK(lines({a}, Sharing::accessed, Time{100})[3] == "30 A0 paused 1");
}

TEST_CASE("What comes behind the end of a run is left out, and a killed job says so", "[live]") {
  LiveHistory a, b;
  a.jobs = {{Time{0}, Time{5}, Time{50}, Mark::killed}, {Time{60}, {}, {}}};
  b.jobs = {{Time{10}, Time{20}, Time{120}}, {Time{130}, Time{130}, {}}};
  CHECK(lines({a, b}, Sharing::free, Time{100}) ==
        Lines{"0 A0 released", "5 A0 submitted 1", "5 A0 started 1", "10 B0 released", "20 B0 submitted 2",
              "20 B0 started 2", "50 A0 gone 1", "50 A0 killed", "60 A1 released", "100 A0 ended"});
}

}  // namespace
}  // namespace gangway::live
