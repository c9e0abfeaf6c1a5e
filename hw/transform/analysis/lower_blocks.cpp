#include "hw/transform/analysis/lower_blocks.hpp"

#include <algorithm>
#include <charconv>

#include "hw/transform/analysis/affine.hpp"
#include "hw/transform/analysis/arrays.hpp"
#include "hw/transform/analysis/calls.hpp"

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

// Writes memory of which it does not say where, or not by an address.
bool stores_unseen(const Instruction& instruction) {
  static constexpr std::string_view kNames[] = {"multimem", "sust", "sured", "tcgen05"};
  return instruction.has("bulk") ||
         std::find(std::begin(kNames), std::end(kNames), instruction.name()) != std::end(kNames);
}

// Of an access, vectors included.
std::optional<std::int64_t> bytes_of(const Instruction& instruction) {
  std::int64_t bits = 0, elements = 1;
  const std::string_view type = instruction.modifiers.back();  // f32
  const char* const end = type.data() + type.size();
  if (type.size() < 2 || std::from_chars(type.data() + 1, end, bits).ptr != end) return std::nullopt;
  for (const auto& [vector, count] : {std::pair("v2", 2), std::pair("v4", 4), std::pair("v8", 8)})
    if (instruction.has(vector)) elements = count;
  return bits / 8 * elements;
}

std::optional<Range> address(const Instruction& instruction, const Tokens& tokens) {
  for (const Range operand : instruction.operands)
    if (tokens[operand.first].is("[")) return operand;
  return std::nullopt;
}

class Proof {
 public:
  Proof(const Flow& flow, std::uint32_t load) : flow_(flow), load_(load), values_(flow), arrays_(flow) {}

  bool holds() {
    if (!flow_.function().entry) return false;
    const auto where = address(flow_.instruction(load_), flow_.module().tokens);
    const auto awaited = where ? values_.of(*where) : std::nullopt;
    if (!awaited || awaited->base().empty()) return false;
    learn_stride(awaited->base());
    for (const BasicBlock& block : flow_.blocks())
      for (const std::uint32_t statement : block.instructions)
        if (!add_stores(statement, awaited->base())) return false;
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

  bool add_stores(std::uint32_t statement, const std::string& base) {
    const Instruction& instruction = flow_.instruction(statement);
    if (stores(instruction)) return add_store(statement, base);
    if (instruction.name() != "call") return !stores_unseen(instruction);
    return !may_come_to(flow_.module(), instruction,
                        [](const Instruction& one) { return stores(one) || stores_unseen(one); });
  }

  // Whether a store is where this block's own word is, or elsewhere.
  bool add_store(std::uint32_t statement, const std::string& base) {
    const Instruction& instruction = flow_.instruction(statement);
    const auto where = address(instruction, flow_.module().tokens);
    auto value = where ? values_.of(*where) : std::nullopt;
    const auto array = where ? arrays_.of(*where) : std::nullopt;
    if (array != base) return array && (*array != kFromMemory || !for_others(instruction));
    if (!value || value->base() != base || value->bound != Affine::Bound::exact) return false;
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
    const Instruction* const compare = taken_if_equal(flow_, from, to);
    if (compare == nullptr || (!compare->has("eq") && !compare->has("ne"))) return std::nullopt;
    const auto a = values_.of(compare->operands[1]), b = values_.of(compare->operands[2]);
    return a && b && a->bound == Affine::Bound::exact && b->bound == Affine::Bound::exact ? difference(*a, *b)
                                                                                          : std::nullopt;
  }

  bool below(const Affine& awaited) const {
    const auto gap = difference(awaited, *own_);
    const auto bytes = bytes_of(flow_.instruction(load_));
    if (!gap || gap->bound == Affine::Bound::at_least || !bytes || gap->constant + *bytes > 0) return false;
    return std::all_of(gap->terms.begin(), gap->terms.end(), [](const auto& term) {
      return term.second < 0 && term.first.front() == '%';  // special registers are not negative
    });
  }

  const Flow& flow_;
  std::uint32_t load_;
  AffineValues values_;
  Arrays arrays_;
  std::optional<Affine> own_;
  std::optional<std::int64_t> stride_;
};

}  // namespace

bool only_lower_blocks_end(const Flow& flow, std::uint32_t load) { return Proof(flow, load).holds(); }

}  // namespace gangway::transform
