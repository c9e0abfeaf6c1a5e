// PTX on the CPU: carries out kernels of a module's text on host memory, under schedules that look for
// faults.
//
// Source of what it does: the PTX ISA 9.0, read by a tokenizer and parser of its own. Global memory is host
// memory, and device addresses are host pointers. Threads and blocks are interleaved one instruction at a
// time, so memory is sequentially consistent here; what a GPU may reorder beyond that is not shown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::testing::ptx {

// The text is not PTX, as far as this interpreter can read it. what() names the line.
struct Error : std::runtime_error {
  Error(std::uint32_t at, const std::string& text)
      : std::runtime_error("line " + std::to_string(at) + ": " + text), line(at) {}
  std::uint32_t line;  // from 1
};

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct EntryParameter {
  std::string name;
  std::uint32_t offset = 0, bytes = 0, alignment = 1;
};

struct Entry {
  std::string name;
  std::uint32_t line = 0;
  std::vector<EntryParameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;    // per block, what its functions use included
  std::uint32_t dynamic_shared_offset = 0;  // of dynamic shared memory behind the first static byte
  Extent most_threads{0, 0, 0};             // .maxntid; zeros: not given
  Extent required_threads{0, 0, 0};         // .reqntid; zeros: not given
};

// How the threads of a block are interleaved. A thread runs until it waits or is done, but never for more
// than a few thousand instructions at a stretch, so that one that spins stops nobody.
enum class Interleaving {
  in_order,  // thread by thread
  reverse,   // thread by thread, the last first
  random,    // another thread after each few instructions
  phases,    // thread by thread from barrier to barrier, in a random order
  lockstep,  // each thread one instruction in turn
};

struct Schedule {
  Interleaving threads = Interleaving::in_order;
  std::uint64_t seed = 0;
  std::uint32_t resident = 1;   // blocks that run at the same time, at most
  bool blocks_in_order = true;  // they start in the order of their index, as GPUs mostly do; else shuffled
};

// Something that happens beside the launch, once so many instructions have been carried out.
struct Event {
  std::uint64_t at = 0;
  std::function<void()> act;
};

struct Range {
  const void* begin = nullptr;
  std::uint64_t bytes = 0;
};

struct Launch {
  Extent grid, block;
  std::span<const std::byte> parameters;  // as the entry's layout says
  std::uint32_t dynamic_shared_bytes = 0;
  Schedule schedule;
  // Memory that the kernel may touch beside the module's own variables, and what it got from malloc. Without
  // any, all of it may be touched, and a stray access crashes the process.
  std::vector<Range> allowed;
  // Shared and local memory, and registers, hold a pattern of the schedule's seed, block and thread where
  // nothing has been written; else zeros.
  bool dirty = true;
  std::uint64_t budget = 200'000'000;        // instructions; more than that "hangs"
  std::vector<Event> events;                 // ascending
  const std::atomic<bool>* abort = nullptr;  // ends the launch when it becomes true
};

enum class Ending { done, fault, hangs, aborted };

struct Outcome {
  Ending ending = Ending::done;
  std::string message;  // why it was not done: "line 7: ... : block 3, thread 5: ..."
  std::uint64_t instructions = 0;
};

// A module's text, decoded, and its variables. Not for use by two threads at once.
class Module {
 public:
  // Throws Error for text that it cannot read. Instructions that it does not know are listed by unknown(); a
  // launch that comes to one ends with a fault.
  explicit Module(std::string_view text);
  Module(Module&&) noexcept;
  ~Module();

  const std::vector<Entry>& entries() const;
  const Entry* entry(std::string_view name) const;  // null: none of that name
  // A variable of the module in .global or .const; empty: none of that name.
  std::span<std::byte> variable(std::string_view name) const;
  // "line 7: mma.sync.aligned...".
  const std::vector<std::string>& unknown() const;
  // Gives all variables the values that they had at first.
  void reset();

  // Carries out a whole launch. Throws std::invalid_argument for an entry that is not there; all else comes
  // back as an outcome.
  Outcome launch(std::string_view entry, const Launch& launch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gangway::testing::ptx
