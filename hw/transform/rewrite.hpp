// PTX to PTX: kernels of somebody else's program in forms that can leave the GPU before they end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::transform {

// The parameters that every rewritten entry has behind the kernel's own, in this order. The kernel's own keep
// their offsets.
//
//   offset + 0   .u64  control   device address of the launch's control word; slice does not read it
//   offset + 8   .u32  grid_x    the original grid, in blocks
//   offset + 12  .u32  grid_y
//   offset + 16  .u32  grid_z
//   offset + 20  .u32  first     slice: the first logical index of this launch
//   offset + 24  .u32  end       loop: one past the last logical index of this launch
//
// A rewritten entry is launched with a grid of one dimension, and without attributes that make clusters, a
// cooperative launch or a dependent one of it. A block's logical index is that of the original grid, x
// fastest.
//
// The control word is 8 bytes, aligned to 8: its low half counts claims, its high half is the flag (0, or
// anything else: leave). Whoever launches sets the low half to the first logical index of the launch and the
// high half to 0, before it starts.
//   slice     the launch's blocks are those from `first` on
//   prologue  one block for each index left; a block that is refused takes its claim back. When the launch
//   has
//             gone, the low half is one past the last logical index that is done: all before it are done,
//             none from it on has had any effect.
//   loop      as prologue, with any number of blocks; each claims until it is refused or none is left
struct HiddenParameters {
  static constexpr std::uint32_t kBytes = 28;
  static constexpr std::uint32_t kAlignment = 8;
  std::uint32_t offset = 0;  // of `control` within the kernel's parameters, bytes
};

// One parameter of a kernel as it was.
struct Parameter {
  std::uint32_t offset = 0, bytes = 0, alignment = 1;
};

// A rewritten entry.
struct Form {
  std::string form;   // "slice", "prologue" or "loop"
  std::string entry;  // its name in the rewritten module
  HiddenParameters hidden;
  // Bytes of dynamic shared memory that a launch has to have behind those of the original launch. They hold
  // the logical index, where it moves nothing of the kernel's own.
  std::uint32_t shared_bytes = 0;
  // Only grids of one dimension may take it: the kernel waits for blocks that are lower if rows do not count.
  bool one_dimension = false;
};

// Why a kernel does not take a form.
struct Refusal {
  std::string form;
  std::string reason;       // one line: "waits for other blocks"
  std::string instruction;  // as in the text; empty: not one instruction's fault
  std::uint32_t line = 0;   // in the PTX, from 1; 0: none
};

struct KernelForms {
  std::string kernel;  // the entry's name
  std::uint32_t line = 0;
  std::vector<Parameter> parameters;
  std::vector<Form> forms;       // best last: slice, prologue, loop
  std::vector<Refusal> refused;  // of every form that is not in `forms`, one
};

struct Rewritten {
  // The module as it was, every byte, with the rewritten entries (and copies of functions that they call)
  // behind it. Without any, exactly the original.
  std::string text;
  std::vector<KernelForms> kernels;  // every entry of the module, in its order
  // Why nothing at all could be done with the text ("line 7: found '@', expected an instruction"); empty
  // where it was understood.
  std::string unusable;
};

// Rewrites all kernels of a PTX module (ISA up to 9.0) in all forms that are safe. What is not proven safe is
// refused. Never throws for any text: one that is not understood comes back as it was, with `unusable`. The
// same text gives the same bytes.
Rewritten rewrite(std::string_view ptx);

// Changes whenever the same PTX would be rewritten otherwise. Part of every cache's key.
inline constexpr int kRewriterVersion = 1;

}  // namespace gangway::transform
