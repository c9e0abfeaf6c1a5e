// Clients with state in device memory, and what a trace says of it.
#pragma once

#include <functional>

#include "models/policy.hpp"
#include "tests/scenario.hpp"

namespace gangway::testing {

Client with_memory(Client client, std::int64_t bytes);
// Copies in and out follow from the variables, and the footprint unless there is one.
Client with_variables(Client client, std::vector<Variable> variables, std::int64_t footprint = 0);

// "25 B 40": client B holds 40 bytes from 25 on.
Lines memory_lines(const Played& played);
// Moves that a policy ordered and the program's own copies, when they end: "70 restore B", "270 out A".
Lines copy_lines(const Played& played);

// All of these, with the GPU in front: "0: 25 launch A 0" (the first block-task), "0: 35 start A", "0: 95
// gone A 60" (how many), "1: 70 restore B", "1: 270 out B", "0: 25 holds A 40", "300 merged A", "310 finished
// A"; GPU by GPU.
Lines gpu_lines(const Played& played);

// Orders whatever the test says, one at each decision that follows a fact.
class Orderly : public Policy {
 public:
  using Say = std::function<void(const View&, Orders&)>;
  explicit Orderly(std::vector<Say> says) : says_(std::move(says)) {}
  Capabilities needs() const override { return {Capability::ranges, Capability::memory}; }
  void note(Time, const Fact&, const View&) override { begun_ = true; }
  void decide(Time, const View& view, Orders& orders) override {
    if (begun_ && next_ < says_.size()) says_[next_++](view, orders);
  }

 private:
  std::vector<Say> says_;
  std::size_t next_ = 0;
  bool begun_ = false;
};

}  // namespace gangway::testing
