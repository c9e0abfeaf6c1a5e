// The trace: what happened in a run, record by record, in order of time. Every world writes it and every
// metric is computed from it. Storing it is optional; metrics read it as it passes.
#pragma once

#include <cstdint>
#include <string>

#include "models/identity.hpp"
#include "models/policy.hpp"
#include "models/quantity.hpp"

namespace gangway {

enum class Mark : std::uint8_t {
  released,     // a job exists; amount: its standalone time in ns
  copy_begins,  // direction says which engine
  copy_ends,
  eligible,   // the job's current kernel may be launched
  submitted,  // an access policy's client handed the kernel to the device; amount: 1 when it was intercepted
  launch_ordered,  // amount: first block-task of the range
  started,         // first block runs
  evict_ordered,
  gone,      // last block has ended; amount: block-tasks this launch did (0 in real worlds: `left` tells)
  left,      // pending work was read, `why` is known; amount: block-tasks of the kernel done in all
  finished,  // the job is over
  decided,   // real worlds: the policy was told and has decided; amount: ns that took, orders included
  ended,     // the run is over; unfinished jobs stay so
};

struct Record {
  Time time{};
  LaunchId launch{};  // 0 where no launch is meant
  std::int64_t amount = 0;
  JobId job{};
  std::uint32_t kernel = 0;
  Mark mark = Mark::ended;
  Why why = Why::completed;                  // left
  Direction direction = Direction::restore;  // copies: restore is host to device
  bool program_copy = true;                  // copies: of the client's program, not ordered by a policy
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const Record& record) = 0;
  // Whether nobody wants the rest of the run. Worlds in real time, which pass records on later, ask for it.
  virtual bool stopped() const { return false; }
};

// One line for people: "1250000 ns  VA job 0 kernel 0 launch 3: evict ordered".
std::string describe(const Record& record, const std::string& client);
std::string name_of(Mark mark);
std::string name_of(Why why);

}  // namespace gangway
