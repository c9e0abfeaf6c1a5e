#include "hw/transform/forms/form.hpp"

#include <algorithm>

namespace gangway::transform {
namespace {

std::vector<const FormRule*>& all_rules() {
  static std::vector<const FormRule*> rules;
  return rules;
}

}  // namespace

FormRegistration::FormRegistration(const FormRule& rule) {
  auto& rules = all_rules();
  rules.push_back(&rule);
  std::sort(rules.begin(), rules.end(),
            [](const FormRule* a, const FormRule* b) { return a->rank() < b->rank(); });
}

const std::vector<const FormRule*>& forms() { return all_rules(); }

std::vector<Objection> objections_of_all() {
  return {
      {Trait::unknown, "PTX 9.0 has no such instruction or register"},
      {Trait::waits, "it may wait for another block, which may not have been launched"},
      {Trait::environment, "it may synchronise the whole grid"},
      {Trait::grid_number, "it reads the number of its launch, and has several"},
      {Trait::launches, "it launches kernels itself"},
      {Trait::takes_blocks, "it takes over blocks of its own grid"},
      {Trait::cluster, "its blocks work together in clusters"},
      {Trait::dependent, "it is launched before the kernel ahead of it ends, or lets the next one be"},
      {Trait::cluster_index, "it reads the index of its cluster"},
      {Trait::whole_block_index, "it reads its block index as a vector, or 16 bits of it"},
      {Trait::unknown_call, "it calls a function that the module lacks"},
      {Trait::outside_call, "it calls through a pointer, possibly a function of another module"},
      {Trait::own_variable, "it declares a variable that must exist only once"},
  };
}

}  // namespace gangway::transform
