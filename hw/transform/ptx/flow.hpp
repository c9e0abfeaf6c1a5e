// The control flow of a PTX function, and which registers its instructions write and read.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// Instructions that run one after the other; they are entered at the first one only.
struct BasicBlock {
  std::vector<std::uint32_t> instructions;  // indices of statements
  std::vector<std::uint32_t> next, before;  // indices of blocks; of the exit, too
};

// What an instruction does to registers. Addresses are read.
struct Registers {
  std::vector<std::string_view> written, read;  // a guard is read
};

class Flow {
 public:
  // Throws PtxError for a branch to a label that the function has not.
  Flow(const Module& module, const Function& function);

  const Module& module() const { return *module_; }
  const Function& function() const { return *function_; }
  // The first one is where the function begins; the last one is the exit, which has no instructions.
  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  std::uint32_t exit() const { return static_cast<std::uint32_t>(blocks_.size() - 1); }
  std::uint32_t block_of(std::uint32_t statement) const { return block_of_.at(statement); }
  const Instruction& instruction(std::uint32_t statement) const {
    return function_->statements[statement].instruction;
  }
  const Registers& registers(std::uint32_t statement) const { return registers_.at(statement); }
  // The statements that write a register.
  const std::vector<std::uint32_t>& writers(std::string_view name) const;

  // The immediate dominator of each block, and the immediate post-dominator; kNone: it has none.
  static constexpr std::uint32_t kNone = 0xffffffff;
  const std::vector<std::uint32_t>& dominators() const { return dominators_; }
  const std::vector<std::uint32_t>& post_dominators() const { return post_dominators_; }
  bool dominates(std::uint32_t above, std::uint32_t block) const;

  // Sets of blocks of which each can reach each other, loops inside loops as sets of their own.
  std::vector<std::vector<std::uint32_t>> loops() const;

 private:
  void split();
  void connect();

  const Module* module_;
  const Function* function_;
  std::vector<BasicBlock> blocks_;
  std::unordered_map<std::uint32_t, std::uint32_t> block_of_;
  std::unordered_map<std::uint32_t, Registers> registers_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> writers_;
  std::unordered_map<std::string_view, std::uint32_t> labels_;                  // the block behind each
  std::unordered_map<std::string_view, std::vector<std::string_view>> tables_;  // .branchtargets
  std::vector<std::uint32_t> dominators_, post_dominators_;
};

// The one word of an operand that is a name or a register, else nothing.
std::string_view word_of(const Module& module, Range operand);

// ret and exit, which end a thread; trap does not count: nothing comes of a kernel that traps.
bool leaves(const Instruction& instruction);

// Barriers of the block: bar, barrier (not of the cluster).
bool is_barrier(const Instruction& instruction);

// Whether a memory operation names a space that other blocks do not see: shared, local, parameters.
bool within_block(const Instruction& instruction);

}  // namespace gangway::transform
