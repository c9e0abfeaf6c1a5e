// What goes on by itself while a loop goes round.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// Reads memory that other blocks may write: global memory, surfaces and textures.
bool is_load(const Instruction& instruction);
// Reads shared or local memory, an mbarrier included. It counts as one variable: what some thread found may
// come by it.
bool reads_block_memory(const Instruction& instruction);

// A counter follows by arithmetic from its own value of the round before, and the loop never sets it back.
// For addresses it counts in every round.
class Progress {
 public:
  // `stores`: the statements of the loop that write memory of the block.
  Progress(const Flow& flow, const std::set<std::uint32_t>& blocks, const std::vector<std::uint32_t>& stores)
      : flow_(flow), blocks_(blocks), stores_(stores), heads_(flow.heads(blocks)) {}

  // Whether the address of a load follows from a counter, so that it does not come again.
  bool advances(std::uint32_t load);
  // Whether a branch depends on a counter, or on where a list goes on.
  bool decides(std::uint32_t branch);

 private:
  enum class Way {
    address,
    value
  };  // a counter that wraps round may bound a loop, but its addresses come again
  // By node: a statement of the loop or, behind them, the memory of the block.
  struct Dependences {
    std::vector<std::vector<std::uint32_t>> sources;
    std::vector<bool> counters;
  };

  std::uint32_t memory() const { return static_cast<std::uint32_t>(statements_.size()); }
  void number();
  void find_counters(Way way);
  bool is_counter(const std::vector<std::uint32_t>& cycle, Way way) const;
  bool each_round(std::uint32_t statement) const;
  bool reaches_counter(std::vector<std::uint32_t> open, Way way) const;
  std::vector<std::uint32_t> sources(std::uint32_t statement, Way way) const;
  std::vector<std::uint32_t> made_of(std::uint32_t statement) const;
  std::vector<std::uint32_t> writers(std::string_view name) const;
  bool is_set(Range operand) const;
  bool chooses(std::uint32_t statement) const;
  bool wraps(const Instruction& instruction) const;
  bool feeds_itself(std::uint32_t load) const;

  const Flow& flow_;
  const std::set<std::uint32_t>& blocks_;
  const std::vector<std::uint32_t>& stores_;
  const std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> statements_;
  std::unordered_map<std::uint32_t, std::uint32_t> node_of_;
  Dependences dependences_[2];
};

}  // namespace gangway::transform
