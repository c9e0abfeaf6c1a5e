// What a PTX function does that decides in which ways it may be rewritten.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hw/transform/ptx/flow.hpp"
#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// Something that a form may have to refuse.
enum class Trait {
  block_index,        // reads %ctaid.x and the like, or %nctaid
  whole_block_index,  // reads %ctaid as a vector, or 16 bits of it
  cluster_index,      // reads %clusterid or %nclusterid, which follow from %ctaid
  environment,        // reads %envreg: cooperative groups across the grid
  dynamic_size,       // reads %dynamic_smem_size
  total_size,         // reads another size of shared memory
  own_variable,       // has a variable of the module's in its body, of which a copy would have its own
  waits,              // may wait for what another block does
  waits_for_lower,    // as that, but for blocks of lower index only, if the grid has one dimension
  own_barrier,        // a barrier that may be number 0 and is not for all threads of the block
  arrival,            // at a barrier for which it does not wait
  skipped_barrier,    // a barrier, or an operation of a whole warp, that some threads may pass by
  exit,               // ends the thread from within a function that is called
  copies,             // cp.async of the threads
  transactions,   // mbarrier, bulk copies, wgmma, setmaxnreg, tensor memory: state that outlives a block-task
  launches,       // kernels of its own
  unknown_call,   // calls what the module does not have
  indirect_call,  // calls by address, or by a name that the module has not
};

// Where in the text. `statement` counts within the function.
struct Place {
  const Function* function = nullptr;
  std::uint32_t statement = 0;
};

struct FunctionFacts {
  const Function* function = nullptr;
  std::map<Trait, Place> traits;  // the first place of each
  std::vector<const Function*> calls;
};

// Of a module, every function that has a body.
class Facts {
 public:
  // Throws PtxError.
  explicit Facts(const Module& module);

  // A function and all that it may call, itself first. What is called by address may be any function of the
  // module that is not a kernel.
  const std::vector<const FunctionFacts*>& reached(const Function& function) const {
    return reached_.at(&function);
  }
  // The first place where a kernel, or what it calls, has a trait.
  std::optional<Place> place(const Function& kernel, Trait trait) const;
  // Whether a function, or what it calls, has one of the traits.
  bool has(const Function& function, std::initializer_list<Trait> traits) const;

 private:
  std::vector<const FunctionFacts*> reach(const Module& module, const FunctionFacts& from) const;

  std::unordered_map<const Function*, FunctionFacts> facts_;
  std::unordered_map<const Function*, std::vector<const FunctionFacts*>> reached_;
};

}  // namespace gangway::transform
