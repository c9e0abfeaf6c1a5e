#include "hw/transform/analysis/waiting.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "hw/transform/analysis/calls.hpp"

namespace gangway::transform {
namespace {

// Sees what other blocks write while a loop goes round.
bool sees_others(const Instruction& instruction) {
  if (within_block(instruction)) return false;
  if (instruction.name() == "atom" || instruction.name() == "multimem") return true;
  return instruction.name() == "ld" &&
         (instruction.has("volatile") || instruction.has("relaxed") || instruction.has("acquire") ||
          instruction.has("mmio") || instruction.has("cv") || instruction.has("cg"));
}

// Makes compilers read memory again.
bool orders_memory(const Instruction& instruction) {
  return instruction.name() == "membar" || instruction.name() == "fence" ||
         instruction.name() == "nanosleep" || is_barrier(instruction) ||
         (instruction.name() == "bar" && instruction.has("warp"));
}

class WaitingLoop {
 public:
  WaitingLoop(const Flow& flow, const std::vector<std::uint32_t>& blocks)
      : flow_(flow), blocks_(blocks.begin(), blocks.end()) {}

  void add_awaited(std::set<std::uint32_t>& found) {
    std::vector<std::uint32_t> of_exits;
    for (const std::uint32_t block : blocks_) {
      const auto& next = flow_.blocks()[block].next;
      if (std::any_of(next.begin(), next.end(), [&](std::uint32_t to) { return !inside(to); }))
        of_exits.push_back(flow_.blocks()[block].instructions.back());
    }
    // Where an exit is passed only on the way of another branch, that branch decides, too.
    const std::set<std::uint32_t> slice = slice_of(of_exits, true);
    for (const std::uint32_t statement : slice) {
      if (awaits(statement) && !brings_the_exit_about(statement)) found.insert(statement);
    }
  }

 private:
  bool inside(std::uint32_t block) const { return blocks_.count(block) != 0; }
  bool inside_statement(std::uint32_t statement) const { return inside(flow_.block_of(statement)); }

  bool awaits(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    if (instruction.name() == "call") return may_come_to(flow_.module(), instruction, sees_others);
    if (sees_others(instruction)) return true;
    // An ordinary load, of one address in each round, between which memory is read again.
    return instruction.name() == "ld" && !within_block(instruction) && !instruction.has("nc") && rereads() &&
           !changes(statement);
  }

  bool rereads() const {
    return std::any_of(blocks_.begin(), blocks_.end(), [this](std::uint32_t block) {
      const auto& all = flow_.blocks()[block].instructions;
      return std::any_of(all.begin(), all.end(),
                         [this](std::uint32_t one) { return orders_memory(flow_.instruction(one)); });
    });
  }

  // Whether the address of a load follows from a variable of the loop.
  bool changes(std::uint32_t load) {
    std::vector<std::uint32_t> sources;
    std::set<std::string_view> read(flow_.registers(load).read.begin(), flow_.registers(load).read.end());
    for (const std::string_view name : read)
      for (const std::uint32_t writer : flow_.writers(name)) sources.push_back(writer);
    for (const std::uint32_t source : slice_of(sources, false))
      read.insert(flow_.registers(source).written.begin(), flow_.registers(source).written.end());
    return std::any_of(read.begin(), read.end(), [this](std::string_view name) {
      const auto& writers = flow_.writers(name);
      return writers.size() > 1 && std::any_of(writers.begin(), writers.end(),
                                               [this](std::uint32_t one) { return inside_statement(one); });
    });
  }

  // All instructions of the loop on which some depend.
  std::set<std::uint32_t> slice_of(const std::vector<std::uint32_t>& roots, bool control) {
    std::set<std::uint32_t> found;
    std::vector<std::uint32_t> open;
    const auto add = [&](std::uint32_t statement) {
      if (inside_statement(statement) && found.insert(statement).second) open.push_back(statement);
    };
    for (const std::uint32_t root : roots) add(root);
    while (!open.empty()) {
      const std::uint32_t statement = open.back();
      open.pop_back();
      for (const std::string_view read : flow_.registers(statement).read)
        for (const std::uint32_t writer : flow_.writers(read)) add(writer);
      if (reads_block_memory(flow_.instruction(statement)))
        for (const std::uint32_t store : block_stores()) add(store);
      if (control && !each_round(flow_.block_of(statement)))
        for (const std::uint32_t branch : branches()) add(branch);
    }
    return found;
  }

  // Shared and local memory counts as one variable: what some thread found may come by it.
  static bool reads_block_memory(const Instruction& instruction) {
    const bool reads =
        instruction.name() == "ld" || instruction.name() == "ldmatrix" || instruction.name() == "atom";
    return reads && !instruction.has("global") && !instruction.has("const") && !instruction.has("param");
  }

  std::vector<std::uint32_t> block_stores() const {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t block : blocks_)
      for (const std::uint32_t statement : flow_.blocks()[block].instructions) {
        const Instruction& instruction = flow_.instruction(statement);
        static constexpr std::string_view kStores[] = {"st", "atom", "red", "stmatrix"};
        const bool stores =
            std::find(std::begin(kStores), std::end(kStores), instruction.name()) != std::end(kStores);
        if (instruction.name() == "cp" || (stores && !instruction.has("global") && !instruction.has("param")))
          found.push_back(statement);
      }
    return found;
  }

  // Whether a block is on every way round the loop.
  bool each_round(std::uint32_t block) const {
    for (const std::uint32_t from : blocks_)
      for (const std::uint32_t to : flow_.blocks()[from].next)
        if (inside(to) && flow_.dominates(to, from) && !flow_.dominates(block, from)) return false;
    return true;
  }

  std::vector<std::uint32_t> branches() const {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t block : blocks_)
      if (flow_.blocks()[block].next.size() > 1) found.push_back(flow_.blocks()[block].instructions.back());
    return found;
  }

  // Of an operand that is a number, or a register that only one instruction sets, to a number.
  std::optional<std::int64_t> value_of(Range operand) const {
    if (const auto value = integer_of(flow_.module().tokens[operand.last - 1])) return value;
    const std::string_view name = word_of(flow_.module(), operand);
    if (name.empty()) return std::nullopt;
    const std::vector<std::uint32_t>& writers = flow_.writers(name);
    if (writers.size() != 1) return std::nullopt;
    const Instruction& writer = flow_.instruction(writers.front());
    if (writer.name() != "mov" || writer.operands.size() != 2) return std::nullopt;
    return integer_of(flow_.module().tokens[writer.operands[1].last - 1]);
  }

  bool brings_the_exit_about(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    if (instruction.name() != "atom") return false;
    if (instruction.operands.size() < 3) return false;
    const auto value = value_of(instruction.operands[2]);
    // With a bound of 0 they write 0: whoever waits so for another value brings none.
    if (instruction.has("inc") || instruction.has("dec")) return !value || *value != 0;
    if (instruction.has("add")) return value && *value != 0;
    if (instruction.has("cas") && instruction.operands.size() > 3) {
      // Writes what it found, or nothing.
      const std::string_view compared = word_of(flow_.module(), instruction.operands[2]);
      if (!compared.empty() && compared == word_of(flow_.module(), instruction.operands[3])) return false;
      // What it compares with comes from what it found before.
      std::vector<std::uint32_t> sources;
      for (std::uint32_t at = instruction.operands[2].first; at < instruction.operands[2].last; ++at)
        for (const std::uint32_t writer : flow_.writers(flow_.module().tokens[at].text))
          sources.push_back(writer);
      return slice_of(sources, false).count(statement) != 0;
    }
    return false;
  }

  const Flow& flow_;
  std::set<std::uint32_t> blocks_;
};

}  // namespace

std::vector<std::uint32_t> awaited_by_loops(const Flow& flow) {
  std::set<std::uint32_t> found;
  for (const auto& blocks : flow.loops()) WaitingLoop(flow, blocks).add_awaited(found);
  return {found.begin(), found.end()};
}

}  // namespace gangway::transform
