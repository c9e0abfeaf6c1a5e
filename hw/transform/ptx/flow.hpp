// The control flow of a PTX function, and the registers that its instructions read and write.
#pragma once

#include <compare>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// Consecutive instructions that are entered at the first one only.
struct BasicBlock {
  std::vector<std::uint32_t> instructions;  // indices of statements
  std::vector<std::uint32_t> next, before;  // indices of blocks, the exit included
};

// Registers of an instruction. Address registers are read. The carry flag is one, too, for each instruction
// that sets it.
struct Registers {
  std::vector<std::string_view> written, read;  // a guard is read
};

class Flow {
 public:
  // Throws PtxError for a branch to an unknown label.
  Flow(const Module& module, const Function& function);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  const Module& module() const { return *module_; }
  const Function& function() const { return *function_; }
  // The first block is the entry; the last is the exit, which has no instructions.
  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  std::uint32_t exit() const { return static_cast<std::uint32_t>(blocks_.size() - 1); }
  std::uint32_t block_of(std::uint32_t statement) const { return block_of_.at(statement); }
  const Instruction& instruction(std::uint32_t statement) const {
    return function_->statements[statement].instruction;
  }
  // Of arguments and results, which calls name alike, each call's have names of their own.
  const Registers& registers(std::uint32_t statement) const { return registers_.at(statement); }
  // The statements that write a register.
  const std::vector<std::uint32_t>& writers(std::string_view name) const;

  // The immediate dominator and post-dominator of each block; kNone if there is none.
  static constexpr std::uint32_t kNone = 0xffffffff;
  const std::vector<std::uint32_t>& dominators() const { return dominators_; }
  const std::vector<std::uint32_t>& post_dominators() const { return post_dominators_; }
  bool dominates(std::uint32_t above, std::uint32_t block) const;

  // Strongly connected sets of blocks; nested loops are sets of their own.
  std::vector<std::vector<std::uint32_t>> loops() const;
  // The blocks at which a loop is entered. None if it never is.
  std::vector<std::uint32_t> heads(const std::set<std::uint32_t>& loop) const;

 private:
  void find_scopes();
  void split();
  void connect();
  void connect_table(std::uint32_t block);
  void link(std::uint32_t from, std::uint32_t to);
  std::uint32_t target(std::uint32_t statement, std::string_view label) const;

  const Module* module_;
  const Function* function_;
  std::vector<BasicBlock> blocks_;
  std::unordered_map<std::uint32_t, std::uint32_t> block_of_;
  std::unordered_map<std::uint32_t, Registers> registers_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> writers_;
  // A name is known in its own scope and in those inside it.
  struct Scoped {
    std::uint32_t scope;
    std::string_view name;
    auto operator<=>(const Scoped&) const = default;
  };
  std::uint32_t find(const std::map<Scoped, std::uint32_t>& all, std::uint32_t scope,
                     std::string_view name) const;
  void name_arguments(std::uint32_t scope, Range declaration);
  void name_carries();
  void tell_apart(std::uint32_t statement, std::vector<std::string_view>& names) const;
  std::deque<std::string> argument_names_, carry_names_;
  std::map<Scoped, std::uint32_t> arguments_;  // of these
  std::vector<std::uint32_t> scopes_, outer_;  // the scope of each statement, and the one around each scope
  std::map<Scoped, std::uint32_t> labels_;     // the block that each label starts
  std::map<Scoped, std::uint32_t> tables_;     // .branchtargets, as statements
  std::vector<std::uint32_t> dominators_, post_dominators_;
};

// The single word of an operand that is a name or register, else empty.
std::string_view word_of(const Module& module, Range operand);

// The value of an operand that is an integer, with its sign. None for other operands.
std::optional<std::int64_t> integer_of(const Module& module, Range operand);

// The comparison (setp) by which control goes from a block to this next one if its two operands are equal.
// Null if unknown. With eq and ne they are equal wherever control goes there.
const Instruction* taken_if_equal(const Flow& flow, std::uint32_t from, std::uint32_t to);

// Whether it ends a thread: ret or exit. trap does not count, because a kernel that traps has no result.
bool leaves(const Instruction& instruction);

// Barriers of the block: bar, barrier (not of the cluster).
bool is_barrier(const Instruction& instruction);

// Whether a memory operation uses a space that other blocks cannot see: shared, local, parameters.
bool within_block(const Instruction& instruction);

}  // namespace gangway::transform
