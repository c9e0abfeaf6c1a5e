#include "hw/transform/analysis/uniformity.hpp"

#include <algorithm>
#include <unordered_set>

namespace gangway::transform {
namespace {

bool differs_by_thread(std::string_view special) {
  static constexpr std::string_view kSame[] = {
      "%ctaid.", "%nctaid.", "%ntid.", "%dynamic_smem_size", "%total_smem_size", "%nsmid", "%nwarpid"};
  return special.front() == '%' &&
         std::none_of(std::begin(kSame), std::end(kSame),
                      [&](std::string_view same) { return special.substr(0, same.size()) == same; });
}

class Uniformity {
 public:
  explicit Uniformity(const Flow& flow) : flow_(flow), divided_(flow.blocks().size()) {
    // Each thread calls a function with arguments of its own; a kernel's are the same for all.
    const Function& function = flow.function();
    for (std::uint32_t at = function.parameters.first; !function.entry && at < function.parameters.last; ++at)
      different_.insert(flow.module().tokens[at].text);
    for (bool changed = true; changed;) changed = values() | branches();
  }

  // Whether only some threads may come to a block.
  bool divided(std::uint32_t block) const { return divided_[block]; }

 private:
  bool differs(std::string_view name) const {
    return different_.count(name) != 0 || (flow_.writers(name).empty() && differs_by_thread(name));
  }

  bool differs(std::uint32_t statement) const {
    const Instruction& instruction = flow_.instruction(statement);
    static constexpr std::string_view kDiffers[] = {"atom",       "shfl",     "vote",  "match",
                                                    "activemask", "elect",    "call",  "mma",
                                                    "wmma",       "ldmatrix", "redux", "tex",
                                                    "tld4",       "suld",     "wgmma", "mbarrier",
                                                    "isspacep",   "alloca",   "fns",   "clusterlaunchcontrol",
                                                    "tcgen05",    "istypep",  "txq",   "suq"};
    const std::string_view name = instruction.name();
    if (std::find(std::begin(kDiffers), std::end(kDiffers), name) != std::end(kDiffers)) return true;
    if ((name == "ld" || name == "ldu") && !instruction.has("param") && !instruction.has("const"))
      return true;
    const auto& read = flow_.registers(statement).read;
    return std::any_of(read.begin(), read.end(), [this](std::string_view one) { return differs(one); });
  }

  bool values() {
    bool any = false;
    for (std::uint32_t block = 0; block < flow_.blocks().size(); ++block)
      for (const std::uint32_t statement : flow_.blocks()[block].instructions)
        if (divided_[block] || differs(statement))
          for (const std::string_view written : flow_.registers(statement).written)
            any |= different_.insert(written).second;
    return any;
  }

  // A branch that threads take differently divides all blocks until its ways meet again.
  bool branches() {
    bool any = false;
    for (std::uint32_t block = 0; block < flow_.blocks().size(); ++block) {
      if (flow_.blocks()[block].next.size() < 2 || flow_.blocks()[block].instructions.empty()) continue;
      const std::uint32_t last = flow_.blocks()[block].instructions.back();
      const auto& read = flow_.registers(last).read;
      if (!divided_[block] &&
          std::none_of(read.begin(), read.end(), [this](std::string_view one) { return differs(one); }))
        continue;
      any |= divide(block);
    }
    return any;
  }

  bool divide(std::uint32_t from) {
    bool any = false;
    const std::uint32_t meeting = flow_.post_dominators()[from];
    std::vector<std::uint32_t> open = flow_.blocks()[from].next;
    std::unordered_set<std::uint32_t> seen;
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (block == meeting || !seen.insert(block).second) continue;
      if (!divided_[block]) divided_[block] = true, any = true;
      for (const std::uint32_t next : flow_.blocks()[block].next) open.push_back(next);
    }
    return any;
  }

  const Flow& flow_;
  std::vector<bool> divided_;
  std::unordered_set<std::string_view> different_;
};

}  // namespace

std::optional<std::uint32_t> passed_by_some(const Flow& flow,
                                            const std::function<bool(const Instruction&)>& matters) {
  const Uniformity uniformity(flow);
  std::optional<std::uint32_t> first;
  for (std::uint32_t block = 0; block < flow.blocks().size(); ++block)
    for (const std::uint32_t statement : flow.blocks()[block].instructions) {
      const Instruction& instruction = flow.instruction(statement);
      // A guard is a branch over one instruction; a uniform one would be a branch in practice.
      if (!matters(instruction) || (!uniformity.divided(block) && !instruction.guard)) continue;
      first = first ? std::min(*first, statement) : statement;
    }
  return first;
}

}  // namespace gangway::transform
