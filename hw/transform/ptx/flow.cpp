#include "hw/transform/ptx/flow.hpp"

#include <algorithm>
#include <functional>

#include "hw/transform/ptx/components.hpp"

namespace gangway::transform {
namespace {

// Instructions without a result; of bar and barrier, see below.
bool without_result(const Instruction& instruction) {
  static constexpr std::string_view kNames[] = {"st",
                                                "red",
                                                "bra",
                                                "brx",
                                                "membar",
                                                "fence",
                                                "ret",
                                                "exit",
                                                "trap",
                                                "prefetch",
                                                "prefetchu",
                                                "cp",
                                                "nanosleep",
                                                "discard",
                                                "brkpt",
                                                "wgmma",
                                                "setmaxnreg",
                                                "pmevent",
                                                "griddepcontrol",
                                                "stmatrix",
                                                "st_async",
                                                "applypriority",
                                                "sust",
                                                "sured",
                                                "multimem",
                                                "tensormap",
                                                "clusterlaunchcontrol",
                                                "tcgen05"};
  const std::string_view name = instruction.name();
  if (name == "multimem") return instruction.has("st") || instruction.has("red");
  if (name == "tcgen05") return !instruction.has("ld");
  if (name == "clusterlaunchcontrol") return !instruction.has("query_cancel");
  if (name == "bar" || name == "barrier") return !instruction.has("red");
  if (name == "mbarrier")
    return instruction.has("init") || instruction.has("inval") || instruction.has("expect_tx") ||
           instruction.has("complete_tx");
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool reads_carry(const Instruction& instruction) {
  return instruction.name() == "addc" || instruction.name() == "subc" || instruction.name() == "madc";
}

bool is_register(const Token& token) {
  return token.kind == TokenKind::word && token.text.front() != '.' && !token.is("_");
}

class RegistersOf {
 public:
  RegistersOf(const Module& module, const Instruction& instruction)
      : module_(module), instruction_(instruction) {}

  Registers found() {
    if (instruction_.guard) found_.read.push_back(instruction_.guard->predicate);
    std::size_t results = without_result(instruction_) ? 0 : 1;
    const bool argument = instruction_.name() == "st" && instruction_.has("param");
    if (instruction_.name() == "call") results = call_results();
    for (std::size_t index = 0; index < instruction_.operands.size(); ++index)
      operand(instruction_.operands[index], index < results, argument && index == 0);
    return std::move(found_);
  }

 private:
  std::size_t call_results() const {
    return !instruction_.operands.empty() && module_.tokens[instruction_.operands[0].first].is("(") ? 1 : 0;
  }

  // What is stored to an argument of a call is written to it, address or not.
  void operand(Range range, bool result, bool argument) {
    bool address = false;
    for (std::uint32_t at = range.first; at < range.last; ++at) {
      const Token& token = module_.tokens[at];
      if (token.is("[")) address = true;
      if (token.is("]")) address = false;
      if (!is_register(token)) continue;
      ((result && !address) || argument ? found_.written : found_.read).push_back(base(token.text));
    }
  }

  // %v.x is of %v; %ctaid.x is itself.
  static std::string_view base(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return name;
    static constexpr std::string_view kSpecial[] = {"%tid",           "%ntid",          "%ctaid",
                                                    "%nctaid",        "%clusterid",     "%nclusterid",
                                                    "%cluster_ctaid", "%cluster_nctaid"};
    const std::string_view front = name.substr(0, dot);
    return std::find(std::begin(kSpecial), std::end(kSpecial), front) != std::end(kSpecial) ? name : front;
  }

  const Module& module_;
  const Instruction& instruction_;
  Registers found_;
};

// Cooper, Harvey and Kennedy's iteration over the reversed post-order, from `root` along `next`.
std::vector<std::uint32_t> immediate_dominators(
    std::uint32_t root, std::size_t count,
    const std::function<const std::vector<std::uint32_t>&(std::uint32_t)>& next,
    const std::function<const std::vector<std::uint32_t>&(std::uint32_t)>& before) {
  std::vector<std::uint32_t> order, number(count, Flow::kNone);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{root, 0}};
  std::vector<bool> seen(count);
  seen[root] = true;
  while (!stack.empty()) {
    auto& [block, child] = stack.back();
    if (child < next(block).size()) {
      const std::uint32_t to = next(block)[child++];
      if (!seen[to]) seen[to] = true, stack.emplace_back(to, 0);
    } else {
      number[block] = static_cast<std::uint32_t>(order.size());
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::vector<std::uint32_t> found(count, Flow::kNone);
  found[root] = root;
  const auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = found[a];
      while (number[b] < number[a]) b = found[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      if (*block == root) continue;
      std::uint32_t made = Flow::kNone;
      for (const std::uint32_t from : before(*block))
        if (found[from] != Flow::kNone) made = made == Flow::kNone ? from : meet(from, made);
      if (found[*block] != made) found[*block] = made, changed = true;
    }
  }
  found[root] = Flow::kNone;
  return found;
}

}  // namespace

std::string_view word_of(const Module& module, Range operand) {
  if (operand.last - operand.first != 1 || module.tokens[operand.first].kind != TokenKind::word) return {};
  return module.tokens[operand.first].text;
}

std::optional<std::int64_t> integer_of(const Module& module, Range operand) {
  if (operand.empty()) return std::nullopt;
  const bool negative = module.tokens[operand.first].is("-");
  if (operand.last - operand.first != (negative ? 2 : 1)) return std::nullopt;
  const auto value = integer_of(module.tokens[operand.last - 1]);
  return value && negative ? -*value : value;
}

const Instruction* taken_if_equal(const Flow& flow, std::uint32_t from, std::uint32_t to) {
  const auto& next = flow.blocks()[from].next;
  if (flow.blocks()[from].instructions.empty() || next.size() != 2) return nullptr;
  const Instruction& branch = flow.instruction(flow.blocks()[from].instructions.back());
  if (branch.name() != "bra" || !branch.guard) return nullptr;
  const auto& writers = flow.writers(branch.guard->predicate);
  if (writers.size() != 1) return nullptr;
  const Instruction& compare = flow.instruction(writers.front());
  if (compare.name() != "setp" || compare.operands.size() != 3 || compare.guard) return nullptr;
  const auto compares = [&](std::initializer_list<std::string_view> ways) {
    return std::any_of(ways.begin(), ways.end(), [&](std::string_view way) { return compare.has(way); });
  };
  const bool equal = compares({"eq", "le", "ge", "ls", "hs", "equ", "leu", "geu"});
  if (!equal && !compares({"ne", "lt", "gt", "lo", "hi", "neu", "ltu", "gtu"})) return nullptr;
  const bool jumps = to == next.front();  // the branch's target comes first
  return (equal != branch.guard->negated) == jumps ? &compare : nullptr;
}

bool leaves(const Instruction& instruction) {
  return instruction.name() == "ret" || instruction.name() == "exit";
}

bool is_barrier(const Instruction& instruction) {
  if (instruction.name() == "barrier") return !instruction.has("cluster");
  return instruction.name() == "bar" && !instruction.has("warp");
}

bool within_block(const Instruction& instruction) {
  return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                     [](std::string_view modifier) {
                       return modifier.substr(0, 6) == "shared" || modifier == "local" ||
                              modifier == "param" || modifier == "const";
                     });
}

Flow::Flow(const Module& module, const Function& function) : module_(&module), function_(&function) {
  find_scopes();
  split();
  name_carries();
  connect();
  const auto next = [this](std::uint32_t block) -> const std::vector<std::uint32_t>& {
    return blocks_[block].next;
  };
  const auto before = [this](std::uint32_t block) -> const std::vector<std::uint32_t>& {
    return blocks_[block].before;
  };
  dominators_ = immediate_dominators(0, blocks_.size(), next, before);
  post_dominators_ = immediate_dominators(exit(), blocks_.size(), before, next);
}

void Flow::find_scopes() {
  std::uint32_t scope = kNone;
  for (const Statement& statement : function_->statements) {
    if (statement.kind == StatementKind::opening) {
      outer_.push_back(scope);
      scope = static_cast<std::uint32_t>(outer_.size() - 1);
    }
    scopes_.push_back(scope);
    if (statement.kind == StatementKind::declaration && statement.name == ".param" && scope != kNone)
      name_arguments(scope, statement.tokens);
    if (statement.kind == StatementKind::closing) scope = outer_[scope];
  }
}

void Flow::name_arguments(std::uint32_t scope, Range declaration) {
  for (std::uint32_t at = declaration.first; at < declaration.last; ++at) {
    const Token& token = module_->tokens[at];
    if (!is_register(token)) continue;
    arguments_[{scope, token.text}] = static_cast<std::uint32_t>(argument_names_.size());
    argument_names_.push_back(std::string(token.text) + '{' + std::to_string(scope) + '}');
  }
}

void Flow::tell_apart(std::uint32_t statement, std::vector<std::string_view>& names) const {
  for (std::string_view& name : names)
    if (const std::uint32_t own = find(arguments_, scopes_[statement], name); own != kNone)
      name = argument_names_[own];
}

void Flow::split() {
  blocks_.emplace_back();
  bool ended = false;
  std::string_view last_label;
  for (std::uint32_t at = 0; at < function_->statements.size(); ++at) {
    const Statement& statement = function_->statements[at];
    if (statement.kind == StatementKind::label) {
      if (!blocks_.back().instructions.empty()) blocks_.emplace_back();
      ended = false;
      labels_[{scopes_[at], statement.name}] = static_cast<std::uint32_t>(blocks_.size() - 1);
      last_label = statement.name;
    } else if (statement.kind == StatementKind::directive && statement.name == ".branchtargets") {
      tables_[{scopes_[at], last_label}] = at;
    } else if (statement.kind == StatementKind::instruction) {
      if (ended) blocks_.emplace_back();
      blocks_.back().instructions.push_back(at);
      const std::string_view name = statement.instruction.name();
      ended = name == "bra" || name == "brx" || name == "ret" || name == "exit" || name == "trap";
      block_of_[at] = static_cast<std::uint32_t>(blocks_.size() - 1);
      Registers& registers = registers_[at] = RegistersOf(*module_, statement.instruction).found();
      tell_apart(at, registers.read);
      tell_apart(at, registers.written);
      for (const std::string_view written : registers.written) writers_[written].push_back(at);
    }
  }
  blocks_.emplace_back();  // the exit
}

// Instructions read the carry that was set before them in their block; one that is set without a condition
// hides those before it. Where none is, it may be that of any other block.
void Flow::name_carries() {
  std::vector<std::string_view> all;
  for (auto& [statement, registers] : registers_) {
    if (!instruction(statement).has("cc")) continue;
    all.push_back(carry_names_.emplace_back("%cc{" + std::to_string(statement) + '}'));
    registers.written.push_back(all.back());
    writers_[all.back()].push_back(statement);
  }
  if (all.empty()) all.push_back("%cc");
  for (const BasicBlock& block : blocks_) {
    std::vector<std::string_view> carries;
    bool hidden = false;
    for (const std::uint32_t statement : block.instructions) {
      const Instruction& instruction = this->instruction(statement);
      Registers& registers = registers_[statement];
      const auto& seen = hidden ? carries : all;
      if (reads_carry(instruction)) registers.read.insert(registers.read.end(), seen.begin(), seen.end());
      if (!instruction.has("cc")) continue;
      if (!instruction.guard) carries.clear(), hidden = true;
      carries.push_back(registers.written.back());
    }
  }
}

// kNone if there is none.
std::uint32_t Flow::find(const std::map<Scoped, std::uint32_t>& all, std::uint32_t scope,
                         std::string_view name) const {
  for (; scope != kNone; scope = outer_[scope])
    if (const auto found = all.find({scope, name}); found != all.end()) return found->second;
  return kNone;
}

void Flow::link(std::uint32_t from, std::uint32_t to) {
  auto& next = blocks_[from].next;
  if (std::find(next.begin(), next.end(), to) != next.end()) return;
  next.push_back(to);
  blocks_[to].before.push_back(from);
}

// Where a statement that names the label goes.
std::uint32_t Flow::target(std::uint32_t statement, std::string_view label) const {
  const std::uint32_t found = find(labels_, scopes_[statement], label);
  if (found == kNone)
    throw PtxError(module_->tokens[function_->statements[statement].tokens.first].line, label,
                   "a label of this function");
  return found;
}

void Flow::connect_table(std::uint32_t block) {
  const std::uint32_t branch = blocks_[block].instructions.back();
  const Instruction& instruction = this->instruction(branch);
  const std::string_view name =
      instruction.operands.size() > 1 ? word_of(*module_, instruction.operands[1]) : "";
  const std::uint32_t table = find(tables_, scopes_[branch], name);
  if (table == kNone)
    throw PtxError(module_->tokens[instruction.tokens.first].line, name, "a list of branch targets");
  const Range targets = function_->statements[table].tokens;
  for (std::uint32_t token = targets.first + 1; token < targets.last; ++token)
    if (module_->tokens[token].kind == TokenKind::word)
      link(block, target(table, module_->tokens[token].text));
}

void Flow::connect() {
  for (std::uint32_t block = 0; block + 1 < blocks_.size(); ++block) {
    bool falls = true;
    if (!blocks_[block].instructions.empty()) {
      const Instruction& last = instruction(blocks_[block].instructions.back());
      falls = last.guard.has_value();
      if (last.name() == "bra" && !last.operands.empty())
        link(block, target(blocks_[block].instructions.back(), word_of(*module_, last.operands[0])));
      else if (last.name() == "brx")
        connect_table(block);
      else if (leaves(last) || last.name() == "trap")
        link(block, exit());
      else
        falls = true;
    }
    if (falls) link(block, block + 1);
  }
}

const std::vector<std::uint32_t>& Flow::writers(std::string_view name) const {
  static const std::vector<std::uint32_t> kNobody;
  const auto found = writers_.find(name);
  return found == writers_.end() ? kNobody : found->second;
}

bool Flow::dominates(std::uint32_t above, std::uint32_t block) const {
  for (; block != kNone; block = dominators_[block])
    if (block == above) return true;
  return false;
}

std::vector<std::uint32_t> Flow::heads(const std::set<std::uint32_t>& loop) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t block : loop) {
    const auto& before = blocks_[block].before;
    if (block == 0 ||
        std::any_of(before.begin(), before.end(), [&](std::uint32_t from) { return loop.count(from) == 0; }))
      found.push_back(block);
  }
  return found;
}

std::vector<std::vector<std::uint32_t>> Flow::loops() const {
  std::vector<std::vector<std::uint32_t>> found;
  std::vector<std::vector<std::uint32_t>> open;
  std::vector<bool> among(blocks_.size(), true);
  const auto next = [this](std::uint32_t block) -> const std::vector<std::uint32_t>& {
    return blocks_[block].next;
  };
  open = components(among, next);
  while (!open.empty()) {
    std::vector<std::uint32_t> loop = std::move(open.back());
    open.pop_back();
    // Loops inside of it are what goes round without its heads, the blocks at which it is entered.
    std::fill(among.begin(), among.end(), false);
    for (const std::uint32_t block : loop) among[block] = true;
    std::vector<std::uint32_t> heads = this->heads({loop.begin(), loop.end()});
    if (heads.empty()) heads.push_back(loop.front());  // never reached
    for (const std::uint32_t head : heads) among[head] = false;
    for (auto& inner : components(among, next)) open.push_back(std::move(inner));
    found.push_back(std::move(loop));
  }
  return found;
}

}  // namespace gangway::transform
