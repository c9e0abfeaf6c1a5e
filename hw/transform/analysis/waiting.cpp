#include "hw/transform/analysis/waiting.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "hw/transform/analysis/affine.hpp"
#include "hw/transform/analysis/arrays.hpp"
#include "hw/transform/analysis/calls.hpp"
#include "hw/transform/analysis/progress.hpp"
#include "hw/transform/analysis/tickets.hpp"

namespace gangway::transform {
namespace {

// Sees what other blocks write while a loop goes round.
bool sees_others(const Instruction& instruction) {
  if (polls(instruction)) return true;
  return !within_block(instruction) && (instruction.name() == "atom" || instruction.name() == "multimem");
}

// Makes compilers read memory again.
bool orders_memory(const Instruction& instruction) {
  return instruction.name() == "membar" || instruction.name() == "fence" ||
         instruction.name() == "nanosleep" || is_barrier(instruction) ||
         (instruction.name() == "bar" && instruction.has("warp"));
}

bool stores_block_memory(const Instruction& instruction) {
  const std::string_view name = instruction.name();
  if (name == "cp" || name == "call" || name == "tcgen05") return true;
  if (name == "mbarrier") return !reads_block_memory(instruction);
  static constexpr std::string_view kStores[] = {"st", "atom", "red", "stmatrix"};
  return std::find(std::begin(kStores), std::end(kStores), name) != std::end(kStores) &&
         !instruction.has("global") && !instruction.has("param");
}

// Brings global memory into the block, from its second operand on. A bulk copy may also go the other way.
bool copies_in(const Instruction& instruction) {
  if (instruction.name() != "cp" || !instruction.has("async") || instruction.operands.size() < 2)
    return false;
  const auto& parts = instruction.modifiers;
  const auto to = std::find_if(parts.begin(), parts.end(), [](std::string_view part) {
    return part.starts_with("shared") || part == "global";
  });
  return to != parts.end() && *to != "global" && instruction.has("global");
}

// Writes memory that other blocks see, as plain loads do.
bool stores_outside(const Instruction& instruction) {
  static constexpr std::string_view kStores[] = {"st", "atom", "red", "sust", "sured", "multimem"};
  return instruction.has("bulk") ||
         (std::find(std::begin(kStores), std::end(kStores), instruction.name()) != std::end(kStores) &&
          !within_block(instruction));
}

bool ends_thread(const Instruction& instruction) { return instruction.name() == "exit"; }

class WaitingLoop {
 public:
  WaitingLoop(const Flow& flow, Arrays& arrays, const std::vector<std::uint32_t>& blocks)
      : flow_(flow), arrays_(arrays), blocks_(blocks.begin(), blocks.end()), heads_(flow.heads(blocks_)) {
    for (const std::uint32_t block : blocks_) {
      const BasicBlock& here = flow_.blocks()[block];
      for (const std::uint32_t to : here.next)
        if (inside(to) && flow_.dominates(to, block)) last_.push_back(block);
      if (here.next.size() > 1) branches_.push_back(here.instructions.back());
      if (leaves_loop(block)) exits_.push_back(here.instructions.back());
      for (const std::uint32_t statement : here.instructions) add(statement);
    }
    ends_.insert(ends_.end(), exits_.begin(), exits_.end());
  }

  // Adds the exits of its own that are taken when a retried compare-and-swap has been made.
  void add_retries(std::set<std::uint32_t>& retries) const {
    for (const std::uint32_t statement : atomics_)
      if (flow_.instruction(statement).has("cas"))
        if (const auto exit = exit_of_retries(statement)) retries.insert(*exit);
  }

  // Retries end by themselves, so that loops around them do not wait there.
  void pass_by(const std::set<std::uint32_t>& retries) {
    const auto passed = [&](std::uint32_t branch) {
      return retries.count(branch) != 0 && std::find(exits_.begin(), exits_.end(), branch) == exits_.end();
    };
    branches_.erase(std::remove_if(branches_.begin(), branches_.end(), passed), branches_.end());
  }

  // Adds what any branch depends on, where a function that calls itself goes round as a whole.
  void add_awaited_by_branches(std::set<std::uint32_t>& found) {
    for (const std::uint32_t statement : slice_of(branches_, false)) {
      const Instruction& instruction = flow_.instruction(statement);
      if (sees_others(instruction) && step_of(flow_, instruction).value_or(0) == 0) found.insert(statement);
    }
  }

  void add_awaited(std::set<std::uint32_t>& found) {
    // Where an exit is passed only on the way of another branch, that branch decides, too.
    for (const std::uint32_t statement : slice_of(ends_, true))
      if (awaits(statement) && !brings_the_exit_about(statement)) found.insert(statement);
  }

 private:
  bool inside(std::uint32_t block) const { return blocks_.count(block) != 0; }
  bool inside_statement(std::uint32_t statement) const { return inside(flow_.block_of(statement)); }

  bool leaves_loop(std::uint32_t block) const {
    const auto& next = flow_.blocks()[block].next;
    return std::any_of(next.begin(), next.end(), [&](std::uint32_t to) { return !inside(to); });
  }

  void add(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    const auto does = [&](bool (*such)(const Instruction&)) {
      return such(instruction) ||
             (instruction.name() == "call" && may_come_to(flow_.module(), instruction, such));
    };
    if (stores_block_memory(instruction)) stores_.push_back(statement);
    if (instruction.name() == "st" && !within_block(instruction)) plain_.push_back(statement);
    if (instruction.name() == "call" && does(ends_thread)) ends_.push_back(statement);
    if (does(is_atomic)) atomics_.push_back(statement);
    if (does(stores_outside)) outside_.push_back(statement);
    ordered_ = ordered_ || does(orders_memory);
  }

  bool awaits(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    if (sees_others(instruction)) return true;
    if (instruction.name() == "call" && may_come_to(flow_.module(), instruction, sees_others)) return true;
    if (!reads_again(statement)) return false;
    return !changes(statement) || (ordered_ && is_load(instruction) && only_looks());
  }

  // Whether a loop goes over the same addresses again and again and does nothing else: what decides is never
  // read where it was not before, nor written in the loop, and some way round passes no exit of a counter's.
  bool only_looks() {
    if (!only_looks_) only_looks_ = looks_where_it_was() && !bounded();
    return *only_looks_;
  }

  bool looks_where_it_was() {
    for (const std::uint32_t statement : slice_of(ends_, true)) {
      const Instruction& instruction = flow_.instruction(statement);
      if (sees_others(instruction)) return false;  // judged by itself: tickets, for example
      if (is_load(instruction) && (progress().advances(statement) || may_be_written(statement))) return false;
    }
    return true;
  }

  bool may_be_written(std::uint32_t load) {
    const auto array = arrays_.of(address_of(load));
    return std::any_of(outside_.begin(), outside_.end(), [&](std::uint32_t store) {
      if (flow_.instruction(store).name() == "call") return true;
      const auto its = arrays_.of(address_of(store));
      return !array || !its || *array == *its || *array == kFromMemory || *its == kFromMemory;
    });
  }

  // Whether every way round the loop passes an exit that its own counting takes.
  bool bounded() {
    std::set<std::uint32_t> passed;
    for (const std::uint32_t exit : exits_)
      if (progress().decides(exit)) passed.insert(flow_.block_of(exit));
    std::set<std::uint32_t> seen;
    std::vector<std::uint32_t> open = heads_;
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (passed.count(block) != 0) continue;
      for (const std::uint32_t to : flow_.blocks()[block].next) {
        if (is_head(to)) return false;
        if (inside(to) && seen.insert(to).second) open.push_back(to);
      }
    }
    return true;
  }

  Progress& progress() {
    if (!progress_) progress_.emplace(flow_, blocks_, stores_);
    return *progress_;
  }

  // Whether an ordinary access reads memory again in each round.
  bool reads_again(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    if (instruction.name() == "cp") return copies_in(instruction);
    if (instruction.name() == "call" ? !may_come_to(flow_.module(), instruction, is_load)
                                     : !is_load(instruction))
      return false;
    return ordered_ || (decides_alone(statement) && (!atomics_.empty() || only_others_write(statement)));
  }

  // Whether a loop that does not end by itself would go round for ever if nobody else wrote there.
  bool only_others_write(std::uint32_t load) {
    return is_load(flow_.instruction(load)) && !may_be_written(load) && !bounded();
  }

  // Whether the address of a load follows from a variable of the loop. Of a copy it is the one it comes from.
  bool changes(std::uint32_t load) {
    std::set<std::string_view> read(flow_.registers(load).read.begin(), flow_.registers(load).read.end());
    if (copies_in(flow_.instruction(load))) {
      read.clear();
      const Range from = flow_.instruction(load).operands[1];
      for (std::uint32_t at = from.first; at < from.last; ++at)
        if (flow_.module().tokens[at].kind == TokenKind::word) read.insert(flow_.module().tokens[at].text);
    }
    std::vector<std::uint32_t> sources;
    for (const std::string_view name : read)
      sources.insert(sources.end(), flow_.writers(name).begin(), flow_.writers(name).end());
    for (const std::uint32_t source : slice_of(sources, false))
      read.insert(flow_.registers(source).written.begin(), flow_.registers(source).written.end());
    return std::any_of(read.begin(), read.end(), [this](std::string_view name) {
      const auto& writers = flow_.writers(name);
      return writers.size() > 1 && std::any_of(writers.begin(), writers.end(),
                                               [this](std::uint32_t one) { return inside_statement(one); });
    });
  }

  // All instructions of the loop on which some depend.
  std::set<std::uint32_t> slice_of(const std::vector<std::uint32_t>& roots, bool control) const {
    std::set<std::uint32_t> found;
    std::vector<std::uint32_t> open;
    const auto add_all = [&](const std::vector<std::uint32_t>& all) {
      for (const std::uint32_t statement : all)
        if (inside_statement(statement) && found.insert(statement).second) open.push_back(statement);
    };
    bool by_memory = false, by_branches = false;
    add_all(roots);
    while (!open.empty()) {
      const std::uint32_t statement = open.back();
      open.pop_back();
      for (const std::string_view read : flow_.registers(statement).read) add_all(flow_.writers(read));
      if (!by_memory && reads_block_memory(flow_.instruction(statement))) by_memory = true, add_all(stores_);
      if (control && !by_branches && !each_round(flow_.block_of(statement)))
        by_branches = true, add_all(branches_);
    }
    return found;
  }

  std::vector<std::uint32_t> sources_of(std::uint32_t statement) const {
    std::vector<std::uint32_t> found;
    for (const std::string_view name : flow_.registers(statement).read)
      found.insert(found.end(), flow_.writers(name).begin(), flow_.writers(name).end());
    return found;
  }

  bool is_head(std::uint32_t block) const {
    return std::find(heads_.begin(), heads_.end(), block) != heads_.end();
  }

  // Whether a block is on every way round the loop. With several heads that is not known.
  bool each_round(std::uint32_t block) const {
    return heads_.size() == 1 && std::all_of(last_.begin(), last_.end(), [&](std::uint32_t last) {
             return flow_.dominates(block, last);
           });
  }

  // Whether some branch depends on a load, and on nothing that the loop itself counts.
  bool decides_alone(std::uint32_t load) {
    if (!alone_) {
      alone_.emplace();
      for (const std::uint32_t branch : branches_) {
        const std::set<std::uint32_t> slice = slice_of({branch}, false);
        if (std::none_of(slice.begin(), slice.end(), [this](std::uint32_t one) { return counts(one); }))
          alone_->insert(slice.begin(), slice.end());
      }
    }
    return alone_->count(load) != 0;
  }

  // Whether what it makes follows from what it made in the round before.
  bool counts(std::uint32_t statement) {
    const auto [known, fresh] = counts_.emplace(statement, false);
    if (fresh) known->second = slice_of(sources_of(statement), false).count(statement) != 0;
    return known->second;
  }

  bool brings_the_exit_about(std::uint32_t statement) {
    const Instruction& instruction = flow_.instruction(statement);
    if (instruction.name() != "atom" || instruction.operands.size() < 3) return false;
    if (const auto step = step_of(flow_, instruction))
      return *step != 0 && !taken_back(statement, *step) && seen_whole(statement, *step);
    if (!instruction.has("cas")) return false;
    const auto exit = exit_of_retries(statement);
    return exit && !goes_round_otherwise(statement, *exit);
  }

  // Whether a branch that depends on what a compare-and-swap found is on a way round past the exit.
  bool goes_round_otherwise(std::uint32_t swap, std::uint32_t exit) const {
    const std::uint32_t without = flow_.block_of(exit);
    const std::set<std::uint32_t> from_heads = reached(heads_, without);
    return std::any_of(branches_.begin(), branches_.end(), [&](std::uint32_t branch) {
      const std::uint32_t block = flow_.block_of(branch);
      if (from_heads.count(block) == 0 || slice_of({branch}, false).count(swap) == 0) return false;
      const std::set<std::uint32_t> further = reached(flow_.blocks()[block].next, without);
      return std::any_of(heads_.begin(), heads_.end(),
                         [&](std::uint32_t head) { return further.count(head) != 0; });
    });
  }

  // The blocks of the loop to which control comes from some of them, but for one.
  std::set<std::uint32_t> reached(std::vector<std::uint32_t> open, std::uint32_t without) const {
    std::set<std::uint32_t> found;
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (block == without || !inside(block) || !found.insert(block).second) continue;
      open.insert(open.end(), flow_.blocks()[block].next.begin(), flow_.blocks()[block].next.end());
    }
    return found;
  }

  // Whether what decides looks at all of what an atomic addition found: some bits of it may never change.
  bool seen_whole(std::uint32_t ticket, std::int64_t step) const {
    const std::set<std::uint32_t> deciding = slice_of(ends_, true);
    std::set<std::uint32_t> found{ticket};
    std::set<std::string_view> registers(flow_.registers(ticket).written.begin(),
                                         flow_.registers(ticket).written.end());
    bool in_memory = false;
    for (bool more = true; more;) {
      more = false;
      for (const std::uint32_t statement : deciding) {
        const Instruction& instruction = flow_.instruction(statement);
        const auto& read = flow_.registers(statement).read;
        const bool follows = (in_memory && reads_block_memory(instruction)) ||
                             std::any_of(read.begin(), read.end(),
                                         [&](std::string_view name) { return registers.count(name) != 0; });
        if (!follows || found.count(statement) != 0) continue;
        if (!keeps_whole(flow_.module(), instruction, step) && !only_told(statement)) return false;
        found.insert(statement), more = true;
        if (stores_block_memory(instruction)) in_memory = true;
        if (reads_at_number(instruction)) continue;
        const auto& written = flow_.registers(statement).written;
        registers.insert(written.begin(), written.end());
      }
    }
    return true;
  }

  // Whether a function is given something and neither returns it nor keeps it in memory of the block.
  bool only_told(std::uint32_t statement) const {
    const Instruction& instruction = flow_.instruction(statement);
    return instruction.name() == "call" && flow_.registers(statement).written.empty() &&
           !may_come_to(flow_.module(), instruction, stores_block_memory);
  }

  // Whether the loop itself may undo what an atomic operation has added.
  bool taken_back(std::uint32_t statement, std::int64_t step) {
    const auto array = arrays_.of(address_of(statement));
    const auto elsewhere = [&](std::uint32_t other) {
      const auto its = arrays_.of(address_of(other));
      return array && its && *array != *its && *array != kFromMemory && *its != kFromMemory;
    };
    const auto undoes = [&](std::uint32_t other) {
      if (other == statement || elsewhere(other)) return false;
      const auto its = step_of(flow_, flow_.instruction(other));
      return !its || (*its < 0) != (step < 0);
    };
    return std::any_of(atomics_.begin(), atomics_.end(), undoes) ||
           std::any_of(plain_.begin(), plain_.end(),
                       [&](std::uint32_t store) { return array && arrays_.of(address_of(store)) == array; });
  }

  Range address_of(std::uint32_t statement) const {
    for (const Range operand : flow_.instruction(statement).operands)
      if (flow_.module().tokens[operand.first].is("[")) return operand;
    return {};
  }

  // The exit that is taken once a compare-and-swap, retried with the value found, has been made: it finds
  // what it compared with, and in the next round what it wrote.
  std::optional<std::uint32_t> exit_of_retries(std::uint32_t statement) const {
    const Instruction& swap = flow_.instruction(statement);
    if (swap.operands.size() < 4) return std::nullopt;
    const auto word = [&](std::size_t operand) { return word_of(flow_.module(), swap.operands[operand]); };
    const std::string_view compared = word(2);
    // It may write what it found, or nothing.
    if (compared.empty() || origin_of(flow_, compared) == origin_of(flow_, word(3))) return std::nullopt;
    if (!is_as_found(compared, statement)) return std::nullopt;
    for (const std::uint32_t exit : exits_) {
      const std::uint32_t block = flow_.block_of(exit);
      for (const std::uint32_t to : flow_.blocks()[block].next) {
        const Instruction* const equal = inside(to) ? nullptr : taken_if_equal(flow_, block, to);
        if (equal == nullptr) continue;
        const auto made = [&](Range found, Range other) {
          const std::string_view a = word_of(flow_.module(), found), b = word_of(flow_.module(), other);
          return (a == word(0) && b == compared) ||
                 (origin_of(flow_, b) == origin_of(flow_, word(3)) && is_as_found(a, statement));
        };
        if (made(equal->operands[1], equal->operands[2]) || made(equal->operands[2], equal->operands[1]))
          return exit;
      }
    }
    return std::nullopt;
  }

  // Whether only moves bring what an instruction made, in the round before, into a register.
  bool is_as_found(std::string_view name, std::uint32_t maker) const {
    std::set<std::string_view> seen{name};
    std::vector<std::string_view> open{name};
    bool found = false;
    while (!open.empty()) {
      const auto& writers = flow_.writers(open.back());
      open.pop_back();
      for (const std::uint32_t writer : writers) {
        if (!inside_statement(writer)) continue;
        found = found || writer == maker;
        if (writer == maker) continue;
        const Instruction& instruction = flow_.instruction(writer);
        const std::size_t moved = instruction.name() == "mov" ? 1 : instruction.name() == "selp" ? 2 : 0;
        if (moved == 0 || instruction.operands.size() <= moved) return false;
        for (std::size_t operand = 1; operand <= moved; ++operand) {
          const std::string_view from = word_of(flow_.module(), instruction.operands[operand]);
          if (from.empty()) return false;
          if (seen.insert(from).second) open.push_back(from);
        }
      }
    }
    return found;
  }

  const Flow& flow_;
  Arrays& arrays_;
  std::set<std::uint32_t> blocks_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> last_;  // blocks that end a round
  // Statements, see add().
  std::vector<std::uint32_t> exits_, branches_, stores_, atomics_, plain_, outside_;
  std::vector<std::uint32_t> ends_;  // the exits, and calls in which the thread may end
  bool ordered_ = false;
  std::optional<bool> only_looks_;
  std::optional<Progress> progress_;
  std::optional<std::set<std::uint32_t>> alone_;
  std::map<std::uint32_t, bool> counts_;
};

}  // namespace

bool polls(const Instruction& instruction) {
  return instruction.name() == "ld" && !within_block(instruction) &&
         (instruction.has("volatile") || instruction.has("relaxed") || instruction.has("acquire") ||
          instruction.has("mmio") || instruction.has("cv") || instruction.has("cg"));
}

std::vector<std::uint32_t> awaited_by_loops(const Flow& flow) {
  Arrays arrays(flow);
  std::vector<WaitingLoop> loops;
  std::set<std::uint32_t> found, retries;
  for (const auto& blocks : flow.loops()) loops.emplace_back(flow, arrays, blocks).add_retries(retries);
  for (WaitingLoop& loop : loops) {
    loop.pass_by(retries);
    loop.add_awaited(found);
  }
  return {found.begin(), found.end()};
}

std::vector<std::uint32_t> awaited_by_recursion(const Flow& flow) {
  Arrays arrays(flow);
  std::set<std::uint32_t> found, retries;
  for (const auto& blocks : flow.loops()) WaitingLoop(flow, arrays, blocks).add_retries(retries);
  std::vector<std::uint32_t> all(flow.blocks().size() - 1);
  std::iota(all.begin(), all.end(), 0);
  WaitingLoop round(flow, arrays, all);
  round.pass_by(retries);
  round.add_awaited_by_branches(found);
  for (const std::uint32_t block : all)
    for (const std::uint32_t statement : flow.blocks()[block].instructions)
      if (polls(flow.instruction(statement))) found.insert(statement);
  return {found.begin(), found.end()};
}

}  // namespace gangway::transform
