// Properties of PTX functions that decide which forms are safe.
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

// A property for which a form may refuse a kernel.
enum class Trait {
  unknown,            // has an instruction or special register that PTX as it is known does not have
  block_index,        // reads a component of %ctaid or %nctaid
  whole_block_index,  // reads %ctaid as a vector, or 16 bits of it
  cluster_index,      // reads %clusterid or %nclusterid, which depend on %ctaid
  grid_number,        // reads %gridid, which each launch has of its own
  cluster,            // does something with the other blocks of its cluster
  dependent,          // griddepcontrol: waits for the grid before, or lets the next one begin
  environment,        // reads %envreg, as grid-wide cooperative groups do
  dynamic_size,       // reads %dynamic_smem_size
  total_size,         // reads another size of shared memory
  own_variable,       // declares a module variable in its body; a copy of the body would declare another
  waits,              // may wait for another block
  waits_for_lower,    // may wait, but only for blocks of lower index, if the grid has one dimension
  own_barrier,        // may use barrier 0 with only some threads of the block
  arrival,            // arrives at a barrier without waiting
  skipped_barrier,    // a barrier or warp-wide operation that some threads may skip
  exit,               // ends the thread inside a called function
  stack,              // takes stack memory (alloca) until the kernel ends
  shared_spills,      // lets ptxas spill registers to shared memory
  copies,             // issues cp.async
  transactions,   // mbarrier, bulk copies, wgmma, setmaxnreg, tensor memory: state that outlives a block-task
  launches,       // launches kernels
  takes_blocks,   // clusterlaunchcontrol: takes over other blocks of the grid as launched
  unknown_call,   // calls a function that the module does not define
  indirect_call,  // calls through an address or an unknown name
  outside_call,   // likewise, in a module that is linked with others
};

// A place in the text. `statement` counts within the function.
struct Place {
  const Function* function = nullptr;
  std::uint32_t statement = 0;
};

struct FunctionFacts {
  const Function* function = nullptr;
  std::map<Trait, Place> traits;  // with the first place of each
  std::vector<const Function*> calls;
};

// The facts of every function of a module that has a body.
class Facts {
 public:
  // Throws PtxError.
  explicit Facts(const Module& module);

  // The function itself, then everything it may call. An indirect call may reach any function of the module
  // whose address is taken.
  const std::vector<const FunctionFacts*>& reached(const Function& function) const {
    return reached_.at(&function);
  }
  // The first place at which a kernel, or a function it calls, has the trait.
  std::optional<Place> place(const Function& kernel, Trait trait) const;
  // Whether a function, or one it calls, has any of the traits.
  bool has(const Function& function, std::initializer_list<Trait> traits) const;

 private:
  bool calls_itself(const Module& module, const FunctionFacts& facts) const;
  std::vector<const FunctionFacts*> reach(const Module& module, const FunctionFacts& from) const;

  std::unordered_map<const Function*, FunctionFacts> facts_;
  std::unordered_map<const Function*, std::vector<const FunctionFacts*>> reached_;
};

}  // namespace gangway::transform
