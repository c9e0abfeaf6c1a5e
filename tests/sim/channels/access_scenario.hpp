// Clients that submit by themselves, written in the test, and what the device and the scheduler did.
#pragma once

#include "tests/scenario.hpp"

namespace gangway::testing {

// A client that submits one request of `us` after the other, `gap` us after each end, for ever.
Client looping(const std::string& name, std::int64_t us, std::int64_t gap = 0);

// Copies of so many us for each of its jobs, on a device of in_turn().
Client copying(Client client, std::int64_t in, std::int64_t out);

// Such clients on a device that serves channels in turn, without any cost, for `us`; it copies
// 1000 bytes in a us.
Scenario in_turn(std::vector<Client> clients, std::int64_t us);

// "12 A" for each request, by the us in which it began (a time that is no multiple shows), up to `until`.
Lines starts(const Played& played, const Scenario& scenario, std::int64_t until = INT64_MAX);
// "12 A deny" for each change of access.
Lines accesses(const Played& played, const Scenario& scenario);
// "12-30 A in" for each copy, by the us in which it began and ended, in the order of the ends.
Lines copies(const Played& played, const Scenario& scenario);
// Of the device, by client, in ns.
std::vector<std::int64_t> usage(const Played& played, const Scenario& scenario);

}  // namespace gangway::testing
