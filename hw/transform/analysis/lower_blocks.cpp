#include "hw/transform/analysis/lower_blocks.hpp"

#include <algorithm>

#include "hw/transform/analysis/affine.hpp"

namespace gangway::transform {
namespace {

const std::string kBlock = "%ctaid.x";

bool stores(const Instruction& instruction) {
  const std::string_view name = instruction.name();
  return (name == "st" || name == "red" || name == "atom") && !within_block(instruction);
}

bool for_others(const Instruction& instruction) {
  return instruction.name() != "st" || instruction.has("volatile") || instruction.has("relaxed") ||
         instruction.has("release") || instruction.has("mmio") || instruction.has("cg") ||
         instruction.has("wt");
}

// An address is that of a vector's first element; the others are behind it, and before the next block's.
std::optional<Range> address(const Instruction& instruction, const Tokens& tokens) {
  for (const Range operand : instruction.operands)
    if (tokens[operand.first].is("[")) return operand;
  return std::nullopt;
}

class Proof {
 public:
  Proof(const Flow& flow, std::uint32_t load) : flow_(flow), load_(load), values_(flow) {}

  bool holds() {
    if (!flow_.function().entry) return false;
    const auto where = address(flow_.instruction(load_), flow_.module().tokens);
    const auto awaited = where ? values_.of(*where) : std::nullopt;
    if (!awaited || awaited->base().empty()) return false;
    learn_stride(awaited->base());
    for (const BasicBlock& block : flow_.blocks())
      for (const std::uint32_t statement : block.instructions)
        if (stores(flow_.instruction(statement)) && !add_store(statement, awaited->base())) return false;
    return own_ && below(*awaited);
  }

 private:
  // The distance of two blocks' words, from a store whose address says it.
  void learn_stride(const std::string& base) {
    for (const BasicBlock& block : flow_.blocks())
      for (const std::uint32_t statement : block.instructions) {
        if (!stores(flow_.instruction(statement))) continue;
        const auto where = address(flow_.instruction(statement), flow_.module().tokens);
        const auto value = where ? values_.of(*where) : std::nullopt;
        if (value && value->base() == base && value->coefficient(kBlock) > 0 && !stride_)
          stride_ = value->coefficient(kBlock);
      }
  }

  // Whether a store is where this block's own word is, or elsewhere.
  bool add_store(std::uint32_t statement, const std::string& base) {
    const Instruction& instruction = flow_.instruction(statement);
    const auto where = address(instruction, flow_.module().tokens);
    auto value = where ? values_.of(*where) : std::nullopt;
    const std::string of = value ? value->base() : pointer_of(where);
    if (of != base) return !of.empty() || !for_others(instruction);
    if (!value || value->bound != Affine::Bound::exact) return false;
    if (value->coefficient(kBlock) == 0) value = by_equality(statement, *value);
    if (!value || value->coefficient(kBlock) <= 0) return false;
    for (const auto& [symbol, coefficient] : value->terms)
      if (symbol != kBlock && symbol.front() == '%' && symbol.substr(0, 5) != "%ntid" &&
          symbol.substr(0, 7) != "%nctaid")
        return false;  // by thread
    if (!own_) {
      own_ = value;
      return true;
    }
    return own_->terms == value->terms && own_->constant == value->constant;
  }

  // An address of which only the array is known.
  std::string pointer_of(std::optional<Range> where) {
    if (!where) return {};
    std::vector<std::string_view> open;
    std::vector<std::string_view> seen;
    std::string found;
    const auto add = [&](std::string_view name) {
      if (std::find(seen.begin(), seen.end(), name) == seen.end()) seen.push_back(name), open.push_back(name);
    };
    for (std::uint32_t at = where->first; at < where->last; ++at)
      if (flow_.module().tokens[at].kind == TokenKind::word) add(flow_.module().tokens[at].text);
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      if (const auto value = values_.of(name); value && !value->base().empty()) {
        if (!found.empty() && found != value->base()) return {};
        found = value->base();
        continue;
      }
      for (const std::uint32_t writer : flow_.writers(name)) {
        const Instruction& instruction = flow_.instruction(writer);
        if (instruction.name() == "ld" || instruction.name() == "atom")
          continue;  // an index, if there is a pointer beside it
        for (const std::string_view read : flow_.registers(writer).read) add(read);
      }
    }
    return found;
  }

  // Where a store is made only if X is n, multiples of X - n may be added to its address.
  std::optional<Affine> by_equality(std::uint32_t statement, const Affine& value) {
    for (std::uint32_t block = flow_.block_of(statement); block != Flow::kNone;
         block = flow_.dominators()[block]) {
      const std::uint32_t above = flow_.dominators()[block];
      if (above == Flow::kNone || flow_.blocks()[block].before.size() != 1 ||
          flow_.blocks()[block].before[0] != above)
        continue;
      const auto zero = zero_on_the_way(above, block);
      if (!zero || zero->coefficient(kBlock) == 0 || !stride_) continue;
      if (*stride_ % zero->coefficient(kBlock) != 0) continue;
      return sum(value, times(*zero, *stride_ / zero->coefficient(kBlock)));
    }
    return std::nullopt;
  }

  // What is 0 wherever control goes from a branch to this next block.
  std::optional<Affine> zero_on_the_way(std::uint32_t from, std::uint32_t to) {
    const Instruction& branch = flow_.instruction(flow_.blocks()[from].instructions.back());
    if (branch.name() != "bra" || !branch.guard) return std::nullopt;
    const auto& writers = flow_.writers(branch.guard->predicate);
    if (writers.size() != 1) return std::nullopt;
    const Instruction& compare = flow_.instruction(writers.front());
    if (compare.name() != "setp" || compare.operands.size() != 3 || compare.guard) return std::nullopt;
    const bool equal = compare.has("eq");
    if ((!equal && !compare.has("ne")) || flow_.blocks()[from].next.size() != 2) return std::nullopt;
    const bool jumps = to == flow_.blocks()[from].next.front();  // the branch's target comes first
    if ((equal != branch.guard->negated) != jumps) return std::nullopt;
    const auto a = values_.of(compare.operands[1]), b = values_.of(compare.operands[2]);
    return a && b && a->bound == Affine::Bound::exact && b->bound == Affine::Bound::exact ? difference(*a, *b)
                                                                                          : std::nullopt;
  }

  bool below(const Affine& awaited) const {
    const auto gap = difference(awaited, *own_);
    if (!gap || gap->bound == Affine::Bound::at_least || gap->constant >= 0) return false;
    return std::all_of(gap->terms.begin(), gap->terms.end(), [](const auto& term) {
      return term.second < 0 && term.first.front() == '%';  // special registers are not negative
    });
  }

  const Flow& flow_;
  std::uint32_t load_;
  AffineValues values_;
  std::optional<Affine> own_;
  std::optional<std::int64_t> stride_;
};

}  // namespace

bool only_lower_blocks_end(const Flow& flow, std::uint32_t load) { return Proof(flow, load).holds(); }

}  // namespace gangway::transform
