// Clients with state in device memory, and what a trace says of it.
#pragma once

#include "tests/scenario.hpp"

namespace gangway::testing {

Client with_memory(Client client, std::int64_t bytes);
// Copies in and out follow from the variables, and the footprint unless there is one.
Client with_variables(Client client, std::vector<Variable> variables, std::int64_t footprint = 0);

// "25 B 40": client B holds 40 bytes from 25 on.
Lines memory_lines(const Played& played);
// Moves that a policy ordered and the program's own copies, when they end: "70 restore B", "270 out A".
Lines copy_lines(const Played& played);

}  // namespace gangway::testing
