// PTX to PTX: rewrites kernels of unmodified programs into forms that can leave the GPU early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::transform {

// Parameters that every rewritten entry has after the kernel's own, in this order. The kernel's own keep
// their offsets.
//
//   offset + 0   .u64  control   device address of the launch's control word; unused by slice
//   offset + 8   .u32  grid_x    the original grid, in blocks
//   offset + 12  .u32  grid_y
//   offset + 16  .u32  grid_z
//   offset + 20  .u32  first     slice: the first logical index of this launch
//                                prologue and loop: from this index on blocks do not look at the order
//   offset + 24  .u32  end       slice and loop: one past the last logical index of this launch
//   offset + 28  .u32  looks     prologue and loop: a block looks at the host's order if its logical index
//                                has none of these bits
//   offset + 32  .u64  host      device address of the launch's HostWord; unused by slice
//
// Launch a rewritten entry with a one-dimensional grid, and without attributes for clusters, cooperative or
// programmatic dependent launch. The logical index of a block is its linear index in the original grid, x
// fastest.
//
// The control word has 16 bytes, aligned to 8. The low half of the first 8 counts claims; their high half is
// the flag (non-zero: leave). Then come 4 bytes that count the blocks of a loop that have left. Before a
// launch, set the low half to its first logical index and the rest to 0. A block that looks at the host's
// order and finds one raises the flag, and finishes: its own claim came before that.
//   slice     the launch's blocks start at `first`; those from `end` on do nothing
//   prologue  one block per remaining index; a refused block undoes its claim. After the
//             launch, the low half is one past the last finished logical index: all before
//             it are done, none from it on has had any effect.
//   loop      as prologue, with any number of blocks; each claims until refused or none
//             remain. If the flag is up, the last block to leave writes the low half to
//             HostWord::left. No block is under way then, though the kernel has not ended.
struct HiddenParameters {
  static constexpr std::uint32_t kBytes = 40;
  static constexpr std::uint32_t kAlignment = 8;
  std::uint32_t offset = 0;  // of `control` among the kernel's parameters, bytes
};

// In host memory that the device can read and write. A read from the device takes about 1 us, and there is
// one at a time (measured on an H200), so few blocks look.
struct HostWord {
  std::uint32_t order;  // non-zero: leave; written by the host
  std::uint32_t left;   // written by the device
};

// A parameter of the original kernel.
struct Parameter {
  std::uint32_t offset = 0, bytes = 0, alignment = 1;
};

// A rewritten entry.
struct Form {
  std::string form;   // "slice", "prologue" or "loop"
  std::string entry;  // its name in the rewritten module
  HiddenParameters hidden;
  // Dynamic shared memory that a launch adds to the original launch's, in bytes. It holds the logical index
  // without moving the kernel's own data.
  std::uint32_t shared_bytes = 0;
  // Limited to one-dimensional grids: the kernel waits for blocks whose linear index is lower only then.
  bool one_dimension = false;
};

// Why a kernel lacks a form.
struct Refusal {
  std::string form;
  std::string reason;       // one line: "waits for other blocks"
  std::string instruction;  // as in the text; empty if no single instruction is the cause
  std::uint32_t line = 0;   // in the PTX, from 1; 0: none
};

struct KernelForms {
  std::string kernel;  // the entry's name
  std::uint32_t line = 0;
  std::vector<Parameter> parameters;
  std::vector<Form> forms;       // in the order slice, prologue, loop
  std::vector<Refusal> refused;  // one for each form not in `forms`
  // An entry of the rewritten module, for one thread; the same for all of its kernels unless it is
  // relocatable, and empty if none has forms. It copies the 8 bytes of the control word, whose address is its
  // first parameter, to the address in its second. A copy by the driver could queue behind the program's own
  // copies, which may wait for that very kernel.
  std::string report;
};

struct Rewritten {
  // The original module, byte for byte, followed by the rewritten entries and copies of functions that they
  // call. Without rewritten entries, exactly the original.
  std::string text;
  std::vector<KernelForms> kernels;  // every entry of the module, in order
  // Why the text could not be parsed ("line 7: found '@', expected an instruction"). Empty if it was.
  std::string unusable;
};

// Relocatable: to be linked with modules that this one does not see.
enum class Compilation { whole, relocatable };

// A form that is not to be written.
struct ExcludedForm {
  std::string kernel;  // empty: all of the module's
  std::string form;
  std::string reason;  // as in Refusal
};

// Rewrites every kernel of a PTX module (ISA up to 9.0) in every form proven safe, except `without`. Never
// throws: text that cannot be parsed is returned unchanged, with `unusable`. Deterministic.
Rewritten rewrite(std::string_view ptx, Compilation compilation = Compilation::whole,
                  const std::vector<ExcludedForm>& without = {});

// Increase when the output for the same PTX changes. Part of every cache key.
inline constexpr int kRewriterVersion = 7;

}  // namespace gangway::transform
