// Small workloads of native clients, in ns, and which block ran where and when.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/scenario.hpp"

namespace gangway::testing {

// m threads and nothing else; no delays.
Device pool(std::int64_t m);
// SMs of 8 threads, 4 block slots, 64 registers and 16 bytes of shared memory each; no delays.
Device sms(std::int64_t count);

// A native client with one kernel of `blocks` blocks of `threads` threads that run for `length` ns each.
Client native(const std::string& name, std::int64_t arrive, std::int64_t blocks, std::int64_t threads,
              std::int64_t length);
Kernel grid(std::int64_t blocks, std::int64_t threads, std::int64_t length);

struct BlockRun {
  std::vector<Record> records;    // without those of `held`, which only say why
  std::vector<std::string> held;  // "12 B RTSS17.R2"
  std::set<LaunchId> held_launches;
  std::vector<std::string>
      blocks;  // "A 3 [0,10) x2 on 1": job 3's, two blocks on SM 1; sorted by text within a time
  std::vector<BlockSpan> spans;    // one wave each, one SM each; `where` is empty
  std::vector<BlocksOnSm> places;  // where those are
  std::vector<JobResult> jobs;
  RunTotals totals;
};
using Interval = std::pair<std::int64_t, std::int64_t>;
// Held to the laws of time (tests/time_laws.hpp).
BlockRun run_blocks(const Scenario& scenario, bool by_block = false,
                    const std::string& policy = "passthrough", const RunSeed& seed = {});

BlockRun run_on(const Device& device, std::vector<Client> clients);

// When the client's job began and finished.
Interval times(const BlockRun& run, std::uint32_t client, std::uint32_t job = 0);
// Whether the run's `held` has the line.
bool held(const BlockRun& run, const std::string& line);

Device without(Device device, Rule rule);
Client with(Client client, const Kernel& next);
Client on_stream(Client client, const std::string& stream);
Client with_copy_in(Client client, std::int64_t bytes);
Client with_copy_out(Client client, std::int64_t bytes);

// Everything that native clients can do, at random, on few and small SMs; rules are switched off now and
// then.
Scenario random_block_scenario(std::uint64_t number);

}  // namespace gangway::testing
