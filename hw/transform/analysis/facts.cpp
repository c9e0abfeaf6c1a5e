#include "hw/transform/analysis/facts.hpp"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "hw/transform/analysis/calls.hpp"
#include "hw/transform/analysis/lower_blocks.hpp"
#include "hw/transform/analysis/uniformity.hpp"
#include "hw/transform/analysis/waiting.hpp"
#include "hw/transform/ptx/isa.hpp"

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
  static constexpr std::string_view kNames[] = {"shfl", "vote"};  // of old
  if (!is_barrier(instruction) && (instruction.has("sync") || instruction.has("aligned"))) return true;
  return std::find(std::begin(kNames), std::end(kNames), instruction.name()) != std::end(kNames);
}

// What threads of a block do together.
bool meets(const Instruction& instruction) { return is_barrier(instruction) || of_a_warp(instruction); }

bool transaction(const Instruction& instruction) {
  const std::string_view name = instruction.name();
  return name == "mbarrier" || name == "wgmma" || name == "setmaxnreg" || name == "tcgen05" ||
         name == "clusterlaunchcontrol" || instruction.has("bulk") || instruction.has("mbarrier") ||
         (name == "barrier" && instruction.has("cluster")) ||
         ((name == "st" || name == "red") && instruction.has("async"));
}

// What needs a cluster of several blocks. Bulk copies and tcgen05 write shared::cluster also where they
// mean the block's own memory.
bool of_a_cluster(const Instruction& instruction) {
  const std::string_view name = instruction.name();
  if (name == "mapa" || name == "getctarank" || instruction.has("cta_group::2")) return true;
  if (instruction.has("multicast::cluster")) return true;
  if (name == "barrier") return instruction.has("cluster");
  if (name == "isspacep" || !instruction.has("shared::cluster")) return false;
  return (name != "cp" && name != "tcgen05") || instruction.has("shared::cta");  // between two blocks
}

// The names that begin with % and are declared in a function or for all of them.
class Declared {
 public:
  Declared(const Module& module, const Function& function) : module_(module) {
    add({function.tokens.first, function.defined ? function.body : function.tokens.last});
    for (const Statement& statement : function.statements)
      if (statement.kind == StatementKind::declaration)
        add(statement.tokens);
      else if (statement.kind == StatementKind::label)
        names_.insert(statement.name);
  }

  // %v.x is of %v.
  bool has(std::string_view name) const {
    if (names_.count(name) != 0) return true;
    if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos)
      return names_.count(name.substr(0, dot)) != 0;
    for (std::size_t end = name.size(); end > 1 && std::isdigit(static_cast<unsigned char>(name[end - 1]));)
      if (series_.count(name.substr(0, --end)) != 0) return true;
    return module_.function_of_name.count(name) != 0 ||
           std::any_of(module_.variables.begin(), module_.variables.end(),
                       [&](const ModuleVariable& one) { return one.name == name; });
  }

 private:
  // %r<9> declares %r0 to %r8.
  void add(Range tokens) {
    for (std::uint32_t at = tokens.first; at < tokens.last; ++at)
      if (const std::string_view name = module_.tokens[at].text; name.starts_with('%'))
        (module_.tokens[at + 1].is("<") ? series_ : names_).insert(name);
  }

  const Module& module_;
  std::unordered_set<std::string_view> names_, series_;
};

class FactsOf {
 public:
  FactsOf(const Module& module, const Function& function)
      : module_(module), function_(function), declared_(module, function) {
    facts_.function = &function;
  }

  FunctionFacts found() {
    for (at_ = 0; at_ < function_.statements.size(); ++at_) {
      const Statement& statement = function_.statements[at_];
      if (statement.kind == StatementKind::instruction) of_instruction(statement.instruction);
      if (statement.kind == StatementKind::declaration &&
          (statement.name == ".global" || statement.name == ".const"))
        note(Trait::own_variable);
      if (statement.kind == StatementKind::directive && statement.name == ".pragma" &&
          module_.source(statement.tokens).find("enable_smem_spilling") != std::string_view::npos)
        note(Trait::shared_spills);
    }
    const Flow flow(module_, function_);
    for (const std::uint32_t awaited : awaited_by_loops(flow))
      facts_.traits.emplace(only_lower_blocks_end(flow, awaited) ? Trait::waits_for_lower : Trait::waits,
                            Place{&function_, awaited});
    if (meets_) {
      const auto skipped = passed_by_some(flow, [this](const Instruction& one) {
        return meets(one) || (one.name() == "call" && may_come_to(module_, one, meets));
      });
      if (skipped) facts_.traits[Trait::skipped_barrier] = {&function_, *skipped};
    }
    return std::move(facts_);
  }

 private:
  void note(Trait trait) { facts_.traits.emplace(trait, Place{&function_, at_}); }

  // Barrier 0 is the claim's, at which all threads of the block meet.
  bool shares_the_claims(const Instruction& barrier) const {
    if (barrier.operands.empty()) return false;
    const bool result = barrier.has("red");
    const std::size_t which = result ? 1 : 0;
    if (which >= barrier.operands.size()) return true;
    const Range number = barrier.operands[which];
    const auto value = integer_of(module_.tokens[number.first]);
    if (number.last - number.first != 1 || !value) return true;
    const bool of_some = barrier.operands.size() > which + (result ? 2 : 1);
    return of_some && *value == 0;
  }

  void of_instruction(const Instruction& instruction) {
    if (!is_known_instruction(instruction.name())) note(Trait::unknown);
    for (std::uint32_t token = instruction.tokens.first; token < instruction.tokens.last; ++token)
      of_word(instruction, module_.tokens[token]);
    meets_ = meets_ || meets(instruction) || instruction.name() == "call";
    if (is_barrier(instruction) && instruction.has("arrive")) note(Trait::arrival);
    if (is_barrier(instruction) && shares_the_claims(instruction)) note(Trait::own_barrier);
    if (instruction.name() == "exit" && !function_.entry) note(Trait::exit);
    if (instruction.name() == "alloca" && function_.entry) note(Trait::stack);
    if (instruction.name() == "cp" && instruction.has("async") && !instruction.has("bulk"))
      note(Trait::copies);
    if (of_a_cluster(instruction)) note(Trait::cluster);
    if (instruction.name() == "griddepcontrol") note(Trait::dependent);
    if (transaction(instruction)) note(Trait::transactions);
    if (instruction.name() == "clusterlaunchcontrol") note(Trait::takes_blocks);
    if (instruction.name() == "call") of_call(instruction);
  }

  void of_word(const Instruction& instruction, const Token& token) {
    const std::string_view word = token.text;
    if (token.kind != TokenKind::word || word.front() != '%') return;
    if (!is_special_register(word) && !declared_.has(word)) note(Trait::unknown);
    if (is_or_part_of(word, "%ctaid") || is_or_part_of(word, "%nctaid")) {
      note(Trait::block_index);
      const bool component =
          word.size() > 2 && word[word.size() - 2] == '.' && word.back() >= 'x' && word.back() <= 'z';
      if (!component || instruction.has("u16") || instruction.has("b16") || instruction.has("s16"))
        note(Trait::whole_block_index);
    }
    if (is_or_part_of(word, "%clusterid") || is_or_part_of(word, "%nclusterid")) note(Trait::cluster_index);
    if (begins(word, "%cluster_") || word == "%is_explicit_cluster") note(Trait::cluster);
    if (word == "%gridid") note(Trait::grid_number);
    if (begins(word, "%envreg")) note(Trait::environment);
    if (word == "%dynamic_smem_size") note(Trait::dynamic_size);
    if (word == "%total_smem_size" || word == "%aggr_smem_size" || begins(word, "%reserved_smem_offset"))
      note(Trait::total_size);
  }

  void of_call(const Instruction& instruction) {
    const Function* const function = callee(module_, instruction);
    if (function == nullptr) {
      if (module_.relocatable) note(Trait::outside_call);
      return note(Trait::indirect_call);
    }
    if (function->defined) {
      if (std::find(facts_.calls.begin(), facts_.calls.end(), function) == facts_.calls.end())
        facts_.calls.push_back(function);
      return;
    }
    const std::string_view name = function->name;
    if (name == "cudaCGGetIntrinsicHandle")
      note(Trait::environment);
    else if (launches(name))
      note(Trait::launches);
    else if (!known_outside(name))
      note(Trait::unknown_call);
  }

  const Module& module_;
  const Function& function_;
  Declared declared_;
  FunctionFacts facts_;
  std::uint32_t at_ = 0;
  bool meets_ = false;  // has what threads do together, or a call, which may
};

}  // namespace

Facts::Facts(const Module& module) {
  for (const Function& function : module.functions)
    if (function.defined) facts_.emplace(&function, FactsOf(module, function).found());
  for (const auto& [function, facts] : facts_) reached_.emplace(function, reach(module, facts));
  for (auto& [function, facts] : facts_) {
    // A function that calls itself goes round like a loop.
    if (!calls_itself(module, facts)) continue;
    for (const std::uint32_t awaited : awaited_by_recursion(Flow(module, *function)))
      facts.traits.emplace(Trait::waits, Place{function, awaited});
  }
}

bool Facts::calls_itself(const Module& module, const FunctionFacts& facts) const {
  std::vector<const Function*> calls = facts.calls;
  if (facts.traits.count(Trait::indirect_call) != 0)
    for (const Function* const function : called_by_address(module)) calls.push_back(function);
  return std::any_of(calls.begin(), calls.end(), [&](const Function* called) {
    const auto& all = reached(*called);
    return std::find(all.begin(), all.end(), &facts) != all.end();
  });
}

std::vector<const FunctionFacts*> Facts::reach(const Module& module, const FunctionFacts& from) const {
  std::vector<const FunctionFacts*> found{&from};
  std::unordered_set<const FunctionFacts*> seen{&from};
  const auto add = [&](const Function* function) {
    const FunctionFacts* const facts = &facts_.at(function);
    if (seen.insert(facts).second) found.push_back(facts);
  };
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const Function* const function : found[at]->calls) add(function);
    if (found[at]->traits.count(Trait::indirect_call) != 0)
      for (const Function* const function : called_by_address(module)) add(function);
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
