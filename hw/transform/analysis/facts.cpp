#include "hw/transform/analysis/facts.hpp"

#include <algorithm>
#include <set>

#include "hw/transform/analysis/calls.hpp"
#include "hw/transform/analysis/lower_blocks.hpp"
#include "hw/transform/analysis/uniformity.hpp"
#include "hw/transform/analysis/waiting.hpp"

namespace gangway::transform {
namespace {

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// A special register, or a component of it; %ctaid_x may be a register of the program's.
bool is_or_part_of(std::string_view word, std::string_view special) {
  return begins(word, special) && (word.size() == special.size() || word[special.size()] == '.');
}

// System functions that the device links in: they know nothing of blocks.
bool known_outside(std::string_view name) {
  static constexpr std::string_view kKnown[] = {"vprintf",      "malloc",        "free",
                                                "__assertfail", "__assert_fail", "__nvvm_reflect"};
  return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown);
}

bool launches(std::string_view name) {
  return begins(name, "cudaLaunchDevice") || begins(name, "cudaGetParameterBuffer") ||
         begins(name, "__cudaCDP") || begins(name, "cudaStream") || begins(name, "cudaEvent") ||
         begins(name, "cudaDeviceSynchronize");
}

bool of_a_warp(const Instruction& instruction) {
  static constexpr std::string_view kNames[] = {"shfl", "vote",     "match",    "redux", "mma",
                                                "wmma", "ldmatrix", "stmatrix", "elect", "movmatrix"};
  return (instruction.name() == "bar" && instruction.has("warp")) ||
         std::find(std::begin(kNames), std::end(kNames), instruction.name()) != std::end(kNames);
}

bool transaction(const Instruction& instruction) {
  const std::string_view name = instruction.name();
  return name == "mbarrier" || name == "wgmma" || name == "setmaxnreg" || name == "tcgen05" ||
         name == "clusterlaunchcontrol" || instruction.has("bulk") || instruction.has("mbarrier") ||
         (name == "barrier" && instruction.has("cluster")) || begins(instruction.opcode, "st.async") ||
         begins(instruction.opcode, "red.async");
}

class FactsOf {
 public:
  FactsOf(const Module& module, const Function& function) : module_(module), function_(function) {
    facts_.function = &function;
  }

  FunctionFacts found() {
    for (at_ = 0; at_ < function_.statements.size(); ++at_) {
      const Statement& statement = function_.statements[at_];
      if (statement.kind == StatementKind::instruction) of_instruction(statement.instruction);
      if (statement.kind == StatementKind::declaration &&
          (statement.name == ".global" || statement.name == ".const"))
        note(Trait::own_variable);
    }
    const Flow flow(module_, function_);
    for (const std::uint32_t awaited : awaited_by_loops(flow))
      facts_.traits.emplace(only_lower_blocks_end(flow, awaited) ? Trait::waits_for_lower : Trait::waits,
                            Place{&function_, awaited});
    if (has(Trait::barrier) || has(Trait::skipped_barrier) || !facts_.calls.empty() ||
        has(Trait::indirect_call)) {
      facts_.traits.erase(Trait::skipped_barrier);
      // What a function that is called does is not looked into here.
      const auto skipped = passed_by_some(flow, [this](const Instruction& instruction) {
        std::set<const Function*> seen;
        return is_barrier(instruction) || of_a_warp(instruction) || calls_together(instruction, seen);
      });
      if (skipped) facts_.traits[Trait::skipped_barrier] = {&function_, *skipped};
    }
    return std::move(facts_);
  }

 private:
  bool has(Trait trait) const { return facts_.traits.count(trait) != 0; }
  void note(Trait trait) { facts_.traits.emplace(trait, Place{&function_, at_}); }

  // A call of something that may have a barrier, or an operation of a whole warp.
  bool calls_together(const Instruction& instruction, std::set<const Function*>& seen) const {
    if (instruction.name() != "call") return false;
    const Function* const function = callee(module_, instruction);
    if (function == nullptr) return !known_outside(called_name(instruction));
    if (!function->defined || !seen.insert(function).second) return false;
    return std::any_of(function->statements.begin(), function->statements.end(),
                       [&](const Statement& statement) {
                         const Instruction& inner = statement.instruction;
                         return statement.kind == StatementKind::instruction &&
                                (is_barrier(inner) || of_a_warp(inner) || calls_together(inner, seen));
                       });
  }

  std::string_view called_name(const Instruction& instruction) const {
    const auto operand = called(module_, instruction);
    return operand ? word_of(module_, *operand) : std::string_view{};
  }

  // Barrier 0 is the claim's, at which all threads of the block meet.
  bool shares_the_claims(const Instruction& barrier) const {
    if (barrier.operands.empty()) return false;
    const bool result = barrier.has("red");
    const std::size_t which = result ? 1 : 0;
    if (which >= barrier.operands.size()) return true;
    const Range number = barrier.operands[which];
    const Token& token = module_.tokens[number.first];
    if (number.last - number.first != 1 || token.kind != TokenKind::number) return true;
    const bool of_some = barrier.operands.size() > which + (result ? 2 : 1);
    return of_some && token.text.find_first_of("123456789abcdefABCDEF") == std::string_view::npos;
  }

  void of_instruction(const Instruction& instruction) {
    for (std::uint32_t token = instruction.tokens.first; token < instruction.tokens.last; ++token)
      of_word(instruction, module_.tokens[token]);
    if (is_barrier(instruction)) note(Trait::barrier);
    if (is_barrier(instruction) && instruction.has("arrive")) note(Trait::arrival);
    if (is_barrier(instruction) && shares_the_claims(instruction)) note(Trait::own_barrier);
    if (of_a_warp(instruction)) note(Trait::skipped_barrier);  // looked into below
    if (instruction.name() == "exit" && !function_.entry) note(Trait::exit);
    if (instruction.name() == "cp" && instruction.has("async") && !instruction.has("bulk"))
      note(Trait::copies);
    if (transaction(instruction)) note(Trait::transactions);
    if (instruction.name() == "call") of_call(instruction);
  }

  void of_word(const Instruction& instruction, const Token& token) {
    const std::string_view word = token.text;
    if (token.kind != TokenKind::word || word.front() != '%') return;
    if (is_or_part_of(word, "%ctaid") || is_or_part_of(word, "%nctaid")) {
      note(Trait::block_index);
      const bool component =
          word.size() > 2 && word[word.size() - 2] == '.' && word.back() >= 'x' && word.back() <= 'z';
      if (!component || instruction.has("u16") || instruction.has("b16") || instruction.has("s16"))
        note(Trait::whole_block_index);
    }
    if (is_or_part_of(word, "%clusterid") || is_or_part_of(word, "%nclusterid")) note(Trait::cluster_index);
    if (begins(word, "%envreg")) note(Trait::environment);
    if (word == "%dynamic_smem_size") note(Trait::dynamic_size);
    if (word == "%total_smem_size" || word == "%aggr_smem_size" || begins(word, "%reserved_smem_offset"))
      note(Trait::total_size);
  }

  void of_call(const Instruction& instruction) {
    const std::string_view name = called_name(instruction);
    if (const Function* const function = callee(module_, instruction);
        function != nullptr && function->defined) {
      if (std::find(facts_.calls.begin(), facts_.calls.end(), function) == facts_.calls.end())
        facts_.calls.push_back(function);
    } else if (name.empty() || name.front() == '%') {
      note(Trait::indirect_call);
    } else if (name == "cudaCGGetIntrinsicHandle") {
      note(Trait::environment);
    } else if (launches(name)) {
      note(Trait::launches);
    } else if (!known_outside(name)) {
      note(function == nullptr && known_register(name) ? Trait::indirect_call : Trait::unknown_call);
    }
  }

  // A register need not begin with '%'.
  bool known_register(std::string_view name) const {
    return std::none_of(module_.functions.begin(), module_.functions.end(),
                        [&](const Function& one) { return one.name == name; });
  }

  const Module& module_;
  const Function& function_;
  FunctionFacts facts_;
  std::uint32_t at_ = 0;
};

}  // namespace

Facts::Facts(const Module& module) : module_(module) {
  for (const Function& function : module.functions)
    if (function.defined) facts_.emplace(&function, FactsOf(module, function).found());
}

std::vector<const FunctionFacts*> Facts::reached(const Function& kernel) const {
  std::vector<const FunctionFacts*> found{&of(kernel)};
  const auto add = [&](const Function* function) {
    const FunctionFacts* const facts = &of(*function);
    if (std::find(found.begin(), found.end(), facts) == found.end()) found.push_back(facts);
  };
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const Function* const function : found[at]->calls) add(function);
    if (found[at]->traits.count(Trait::indirect_call) != 0)
      for (const Function& function : module_.functions)
        if (function.defined && !function.entry) add(&function);
  }
  return found;
}

std::optional<Place> Facts::place(const Function& kernel, Trait trait) const {
  for (const FunctionFacts* const facts : reached(kernel))
    if (const auto found = facts->traits.find(trait); found != facts->traits.end()) return found->second;
  return std::nullopt;
}

bool Facts::has(const Function& function, std::initializer_list<Trait> traits) const {
  return std::any_of(traits.begin(), traits.end(),
                     [&](Trait trait) { return place(function, trait).has_value(); });
}

}  // namespace gangway::transform
