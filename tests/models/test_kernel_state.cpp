#include "models/kernel_state.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

// "0 PREP", "10 READY": the states of a client's kernels, each from when on.
Lines states(const Played& played, std::uint32_t client) {
  Lines lines;
  KernelState state = KernelState::done;
  for (const Record& r : played.records) {
    if (r.mark == Mark::ended || r.job.client.index != client) continue;
    const auto next = state_after(r, state);
    if (!next) continue;
    state = *next;
    lines.push_back(std::to_string(r.time.ns) + " " + name_of(state));
  }
  return lines;
}

}  // namespace

TEST_CASE("a kernel's states from its release to its end") {
  Client a = client("A", 0, 100), b = client("B", 120, 20);
  a.copy_in = Bytes{95};  // 100 ns
  b.priority = 1;
  // At 120 A has run 10: out at 128 with 15 done; B runs from 143 to 163 and is reported at 168.
  const Played played = play({{a, b}}, "piv");
  CHECK(states(played, 0) == Lines{"0 PREP", "100 READY", "100 TORUN", "110 RUNNING", "120 TOEVICT",
                                   "133 READY", "168 TORUN", "178 RUNNING", "268 DONE"});
  CHECK(states(played, 1) == Lines{"120 PREP", "120 READY", "133 TORUN", "143 RUNNING", "168 DONE"});
}

TEST_CASE("a kernel that is to leave before it began never runs") {
  Client b = client("B", 3, 20);
  b.priority = 1;
  const Lines all = states(play({{client("A", 0, 100), b}}, "piv"), 0);
  CHECK(Lines(all.begin(), all.begin() + 5) ==
        Lines{"0 PREP", "0 READY", "0 TORUN", "3 TOEVICT", "15 READY"});
}
