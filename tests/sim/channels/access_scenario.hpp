// Clients that submit by themselves, written in the test, and what the device and the scheduler did.
#pragma once

#include "tests/scenario.hpp"

namespace gangway::testing {

// A client that submits one request of `us` after the other, `gap` us after each end, for ever.
Client looping(const std::string& name, std::int64_t us, std::int64_t gap = 0);

// Such clients on a device that serves channels in turn, without any cost, for `us`.
Scenario in_turn(std::vector<Client> clients, std::int64_t us);

// "12 A" for each request, by the us in which it began (a time that is no multiple shows), up to `until`.
Lines starts(const Played& played, const Scenario& scenario, std::int64_t until = INT64_MAX);
// "12 A deny" for each change of access.
Lines accesses(const Played& played, const Scenario& scenario);
// Of the device, by client, in ns.
std::vector<std::int64_t> usage(const Played& played, const Scenario& scenario);

}  // namespace gangway::testing
