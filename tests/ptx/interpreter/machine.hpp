// What is carried out: decoded instructions, and the state of threads, blocks and a launch.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/ptx/interpreter/interpreter.hpp"
#include "tests/ptx/interpreter/syntax.hpp"

namespace gangway::testing::ptx {

// Where generic addresses of what is no host memory lie. No host pointer is as high.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 56;
inline constexpr std::uint64_t kCodeWindow = std::uint64_t{4} << 56;  // addresses of functions
inline constexpr std::uint64_t kWindowMask = std::uint64_t{255} << 56;
// A block's first byte of static shared memory, as on GPUs that keep 1 KiB for themselves.
inline constexpr std::uint32_t kSharedBase = 1024;
inline constexpr std::uint32_t kWarp = 32;

struct Machine;
struct Thread;
struct Instruction;
struct Code;

enum class Step : std::uint8_t {
  next,   // go on behind the instruction
  jump,   // go on at the thread's position
  waits,  // go on behind the instruction once another thread has let it
  exited,
};

using Handler = Step (*)(Machine&, Thread&, const Instruction&);

struct Operand {
  enum class Kind : std::uint8_t { sink, reg, immediate, special, shared, local, param, frame };
  Kind kind = Kind::sink;
  bool negated = false;
  std::uint32_t index = 0;  // register, special register, shared variable
  std::uint64_t value = 0;  // the number; a register's mask; an address's or variable's offset
};

struct CallSite;

struct Instruction {
  Handler run = nullptr;
  std::int32_t guard = -1;
  bool guard_negated = false;
  std::uint8_t count = 1;            // of a vector
  std::uint8_t width = 0;            // bytes of one element
  std::uint8_t mode = 0, extra = 0;  // what the handler makes of it
  Space space = Space::none;
  std::uint32_t target = 0;  // of a branch
  std::uint32_t line = 0;
  Operand o[6];
  std::vector<Operand> more;  // the elements of a vector
  std::shared_ptr<const CallSite> call;
  std::vector<std::uint32_t> targets;  // of brx.idx
  std::string_view text;
};

// A variable of a function within a frame's memory.
struct FrameVariable {
  std::uint32_t offset = 0, bytes = 0;
};

// What is passed: a variable in the caller's frame, or a register or number.
struct Argument {
  FrameVariable place;
  bool by_value = false;
  Operand value;
};

struct CallSite {
  const Code* callee = nullptr;  // null: indirect or external
  std::string external;          // vprintf and such
  Operand address;
  std::vector<Argument> arguments, results;
};

struct Code {
  const Function* function = nullptr;
  std::vector<Instruction> instructions;
  std::uint32_t registers = 0;
  std::uint32_t frame_bytes = 0;
  std::vector<FrameVariable> parameters, returns;  // in the frame
  std::vector<const Code*> callees;
  bool indirect = false;
  std::vector<std::uint32_t> shared;  // the shared variables that it names
};

struct SharedVariable {
  std::string_view name;
  std::uint32_t bytes = 0, alignment = 1;
  bool dynamic = false;
};

// Where shared variables are for one entry, from kSharedBase on.
struct SharedLayout {
  std::vector<std::uint32_t> offset;
  std::uint32_t static_bytes = 0, dynamic_offset = 0;
};

struct Frame {
  const Code* code = nullptr;
  std::uint32_t position = 0;
  std::uint32_t registers = 0, memory = 0;  // where they begin in the thread's
  const CallSite* call = nullptr;           // by which it was entered
};

struct AsyncCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0, from_bytes = 0;
  std::uint32_t group = 0;
};

struct Block;

struct Thread {
  std::uint64_t* r = nullptr;  // the registers of the frame
  const Code* code = nullptr;
  std::uint32_t position = 0;
  std::uint32_t frame_memory = 0;
  Block* block = nullptr;
  std::uint32_t linear = 0, x = 0, y = 0, z = 0;
  enum class State : std::uint8_t { runs, barrier, warp, exited } state = State::runs;
  bool carry = false;
  std::uint8_t barrier = 0;  // at which it waits
  bool barrier_predicate = false;
  std::uint32_t mask = 0;              // with whom it waits
  const Instruction* waits = nullptr;  // at a barrier or with its warp
  std::uint32_t copy_group = 0;        // of asynchronous copies, not committed yet
  std::vector<AsyncCopy> copies;
  std::vector<Frame> frames;  // of the callers
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> memory;  // local variables and parameters of all frames

  std::uint32_t lane() const { return linear % kWarp; }
  std::uint32_t warp() const { return linear / kWarp; }
};

struct BarrierState {
  std::uint32_t expected = 0;  // 0: all threads of the block
  bool in_use = false;
  std::uint32_t trues = 0;
  std::vector<std::uint32_t> arrived;  // a mask for each warp
};

struct Block {
  std::uint32_t x = 0, y = 0, z = 0;
  std::uint64_t linear = 0;
  std::vector<std::byte> shared;
  std::vector<Thread> threads;
  std::uint32_t alive = 0, runnable = 0;
  BarrierState barriers[16];
  std::vector<std::uint32_t> exited;  // a mask for each warp, threads that there are not included
  std::uint32_t turn = 0;             // of in_order, reverse, lockstep
  std::uint32_t current = 0;          // of phases
  std::uint32_t stretch = 0;          // instructions since another thread was chosen
};

struct Fault {
  std::string text;
};

inline std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// SplitMix64: small, and the same everywhere.
struct Random {
  std::uint64_t state = 0;
  std::uint64_t operator()() { return mixed(state += 0x9E3779B97F4A7C15); }
};

struct Machine {
  const Launch* launch = nullptr;
  const SharedLayout* layout = nullptr;
  const std::vector<Code>* codes = nullptr;
  std::vector<std::byte> parameters;
  std::vector<Range> ranges;  // allowed, ascending; empty: all
  Range last;
  std::map<std::byte*, std::uint64_t>* heap = nullptr;
  Random random;
  std::uint64_t executed = 0;
  std::uint64_t blocks = 0;  // of the grid
  std::uint64_t grid = 0;    // another number for each launch
};

inline constexpr std::uint64_t mask_of(std::uint32_t bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// What has no register and no number: special registers and addresses.
std::uint64_t read_other(const Machine& m, const Thread& t, const Operand& o);

inline std::uint64_t read(const Machine& m, const Thread& t, const Operand& o) {
  if (o.kind == Operand::Kind::reg) [[likely]]
    return t.r[o.index];
  if (o.kind == Operand::Kind::immediate) return o.value;
  return read_other(m, t, o);
}

inline bool read_predicate(const Machine& m, const Thread& t, const Operand& o) {
  return ((read(m, t, o) & 1) != 0) != o.negated;
}

inline void write(Thread& t, const Operand& o, std::uint64_t bits) {
  if (o.kind == Operand::Kind::reg) t.r[o.index] = bits & o.value;
}

// Host memory behind an address, checked for `bytes` and for alignment to `bytes / count`. Throws Fault.
std::byte* memory_at(Machine& m, Thread& t, Space space, std::uint64_t address, std::uint32_t bytes,
                     std::uint32_t alignment, bool writes);
// The address of a memory operand: o is the base, its offset in i.o[at].
std::uint64_t address_of(const Machine& m, const Thread& t, const Instruction& i, std::uint32_t at);

// A thread leaves a function, or the kernel.
Step leave(Machine& m, Thread& t);
Step exit_thread(Machine& m, Thread& t);
// Enters a function; arguments are copied.
Step enter(Machine& m, Thread& t, const Code& callee, const CallSite& call);
Step call_external(Machine& m, Thread& t, const CallSite& call);
// Barriers that an exit may complete.
void check_barriers(Machine& m, Block& block);
void check_warp(Machine& m, Block& block, std::uint32_t warp);
// Carries out asynchronous copies up to and including that group.
void finish_copies(Thread& t, std::uint32_t group);
void finish_some_copy(Machine& m, Thread& t);

}  // namespace gangway::testing::ptx
