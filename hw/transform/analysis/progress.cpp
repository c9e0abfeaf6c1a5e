#include "hw/transform/analysis/progress.hpp"

#include <algorithm>

#include "hw/transform/ptx/components.hpp"

namespace gangway::transform {
namespace {

bool has_name_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool counts(const Instruction& instruction) {
  return has_name_of(instruction.name(), {"add", "addc", "sub", "subc", "mul", "mul24", "mad", "madc",
                                          "mad24", "fma", "div", "rem", "shl", "shr", "sad", "dp4a"});
}

bool selects(const Instruction& instruction) {
  return instruction.name() == "selp" && instruction.operands.size() == 4;
}

}  // namespace

bool is_load(const Instruction& instruction) {
  if (has_name_of(instruction.name(), {"ldu", "suld", "tex", "tld4"})) return true;
  return instruction.name() == "ld" && !within_block(instruction) && !instruction.has("nc");
}

bool reads_block_memory(const Instruction& instruction) {
  if (instruction.name() == "mbarrier")
    return instruction.has("test_wait") || instruction.has("try_wait");  // what others have arrived at
  const bool reads = has_name_of(instruction.name(), {"ld", "ldmatrix", "atom"});
  return reads && !instruction.has("global") && !instruction.has("const") && !instruction.has("param");
}

bool Progress::advances(std::uint32_t load) {
  find_counters(Way::address);
  return reaches_counter(made_of(load), Way::address);
}

bool Progress::decides(std::uint32_t branch) {
  find_counters(Way::value);
  return reaches_counter(made_of(branch), Way::value);
}

// Goes back to the counters from which something follows.
bool Progress::reaches_counter(std::vector<std::uint32_t> open, Way way) const {
  const Dependences& all = dependences_[static_cast<int>(way)];
  std::vector<bool> seen(all.sources.size());
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (all.counters[node]) return true;
    if (way == Way::value && node != memory()) {
      if (is_load(flow_.instruction(statements_[node])) && feeds_itself(statements_[node])) return true;
      // A copy of a counter that is kept where something is found need never be made.
      if (chooses(statements_[node])) continue;
    }
    for (const std::uint32_t from : all.sources[node])
      if (!seen[from]) seen[from] = true, open.push_back(from);
  }
  return false;
}

void Progress::find_counters(Way way) {
  if (statements_.empty()) number();
  Dependences& all = dependences_[static_cast<int>(way)];
  if (!all.sources.empty()) return;
  for (const std::uint32_t statement : statements_) all.sources.push_back(sources(statement, way));
  all.sources.emplace_back();
  for (const std::uint32_t store : stores_) all.sources.back().push_back(node_of_.at(store));
  all.counters.resize(all.sources.size());
  const auto cycles =
      components(std::vector<bool>(all.sources.size(), true),
                 [&](std::uint32_t node) -> const std::vector<std::uint32_t>& { return all.sources[node]; });
  for (const std::vector<std::uint32_t>& cycle : cycles)
    if (is_counter(cycle, way))
      for (const std::uint32_t node : cycle) all.counters[node] = true;
}

void Progress::number() {
  for (const std::uint32_t block : blocks_)
    for (const std::uint32_t statement : flow_.blocks()[block].instructions) {
      node_of_.emplace(statement, static_cast<std::uint32_t>(statements_.size()));
      statements_.push_back(statement);
    }
}

// The nodes from which a statement's result follows.
std::vector<std::uint32_t> Progress::sources(std::uint32_t statement, Way way) const {
  const Instruction& instruction = flow_.instruction(statement);
  if (reads_block_memory(instruction)) return {memory()};
  if (is_load(instruction) || has_name_of(instruction.name(), {"atom", "call"})) return {};
  if (way == Way::address && wraps(instruction)) return {};
  if (selects(instruction) && is_set(instruction.operands[1]) != is_set(instruction.operands[2]))
    return {};  // possibly set back
  return made_of(statement);
}

// The nodes that set the registers it reads.
std::vector<std::uint32_t> Progress::made_of(std::uint32_t statement) const {
  std::vector<std::uint32_t> found;
  for (const std::string_view read : flow_.registers(statement).read)
    for (const std::uint32_t writer : writers(read)) found.push_back(node_of_.at(writer));
  return found;
}

// Whether a cycle counts, and comes by a register that is set before the loop, and in it only by the cycle.
bool Progress::is_counter(const std::vector<std::uint32_t>& cycle, Way way) const {
  const bool by_memory = cycle.back() == memory();
  const auto in_cycle = [&](std::uint32_t writer) {
    return std::binary_search(cycle.begin(), cycle.end(), node_of_.at(writer));
  };
  const auto carried = [&](std::string_view name) {
    const auto inside = writers(name);
    return inside.size() < flow_.writers(name).size() && std::all_of(inside.begin(), inside.end(), in_cycle);
  };
  bool counting = false, carries = by_memory;  // whether memory is set back is not known
  for (const std::uint32_t node : cycle) {
    if (node == memory()) continue;
    counting = counting || (counts(flow_.instruction(statements_[node])) &&
                            (way == Way::value || each_round(statements_[node])));
    const auto& written = flow_.registers(statements_[node]).written;
    carries = carries || std::any_of(written.begin(), written.end(), carried);
  }
  return counting && carries;
}

// Whether it is on every way round the loop, which has one head, and has no condition of its own.
bool Progress::each_round(std::uint32_t statement) const {
  const std::uint32_t here = flow_.block_of(statement);
  return !flow_.instruction(statement).guard && heads_.size() == 1 &&
         std::all_of(blocks_.begin(), blocks_.end(), [&](std::uint32_t block) {
           const auto& next = flow_.blocks()[block].next;
           const bool last =
               std::any_of(next.begin(), next.end(), [&](std::uint32_t to) { return to == heads_.front(); });
           return !last || flow_.dominates(here, block);
         });
}

// Makes its result from one value or another. Of predicates it is the comparison that counts.
bool Progress::chooses(std::uint32_t statement) const {
  const Instruction& instruction = flow_.instruction(statement);
  if (selects(instruction)) return is_set(instruction.operands[1]) || is_set(instruction.operands[2]);
  if (has_name_of(instruction.name(), {"slct", "min", "max"})) return true;
  if (instruction.name() == "setp" || instruction.has("pred")) return false;
  const auto& written = flow_.registers(statement).written;
  return std::any_of(written.begin(), written.end(),
                     [this](std::string_view name) { return writers(name).size() > 1; });
}

// Brings a value back to one that it had before.
bool Progress::wraps(const Instruction& instruction) const {
  if (has_name_of(instruction.name(), {"rem", "bfe", "bfi", "xor", "prmt"})) return true;
  if (instruction.name() != "and" || instruction.operands.size() != 3) return false;
  const auto mask = integer_of(flow_.module(), instruction.operands[2]);
  return !mask || *mask >= 0;  // a negative one only clears the lowest bits
}

// Whether the loop sets it.
bool Progress::is_set(Range operand) const {
  const std::string_view name = word_of(flow_.module(), operand);
  return !name.empty() && !writers(name).empty();
}

// Those of the loop.
std::vector<std::uint32_t> Progress::writers(std::string_view name) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t writer : flow_.writers(name))
    if (blocks_.count(flow_.block_of(writer)) != 0) found.push_back(writer);
  return found;
}

// Whether a load says where it is made next, as in a list.
bool Progress::feeds_itself(std::uint32_t load) const {
  std::set<std::uint32_t> seen;
  std::vector<std::uint32_t> open{load};
  while (!open.empty()) {
    const std::uint32_t statement = open.back();
    open.pop_back();
    const auto& guard = flow_.instruction(statement).guard;
    for (const std::string_view read : flow_.registers(statement).read)
      for (const std::uint32_t writer :
           guard && guard->predicate == read ? std::vector<std::uint32_t>() : writers(read)) {
        if (writer == load) return true;
        if (seen.insert(writer).second) open.push_back(writer);
      }
  }
  return false;
}

}  // namespace gangway::transform
