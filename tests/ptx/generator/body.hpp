// The statements of a random kernel or function.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "tests/ptx/generator/generator.hpp"

namespace gangway::testing::ptx {

// What a function that may be called is like.
struct Callable {
  std::string name, prototype;
  std::map<std::string, int> constructs;
};

struct Surroundings {
  bool entry = false;
  bool asks = true;             // where the block is
  std::uint32_t threads = 1;    // of a block
  bool dynamic_shared = false;  // there is `dyn`, with 4 bytes a thread at least
  bool static_shared = false;   // there is `own`, with 4 bytes a thread
  std::vector<Callable> callable;
  std::string prefix;  // of labels
};

// Where a statement stands. What is `uniform` is reached by every thread of the block that has not left.
struct Place {
  bool uniform = true, in_loop = false;
  int depth = 0;
};

// Writes statements on the registers %v0-%v5 (32 bits), %acc (64 bits) and %f0, %f1.
class Body {
 public:
  Body(Dice& dice, Surroundings surroundings) : dice_(dice), s_(std::move(surroundings)) {}

  void statements(int count, Place place);
  // All threads give their slots of shared memory a value; then they can be exchanged.
  void initialise_shared();
  // Some threads leave, in kernels where they may.
  void leave_early() {
    if (leaves) leave({});
  }
  // The declarations of what the statements need.
  std::string declarations() const;

  std::string text;
  std::map<std::string, int> constructs;
  bool left = false;   // some threads may have left
  bool leaves = true;  // threads may leave early

  template <typename... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    text += fmt::format(format, std::forward<T>(values)...);
    text += dice_.one_in(6) ? ' ' : '\n';
  }
  void used(const std::string& construct) { ++constructs[construct]; }
  std::string temporary() { return fmt::format("%t{}", temporaries_++); }
  std::string wide() { return fmt::format("%w{}", wides_++); }
  std::string predicate() { return fmt::format("%p{}", predicates_++); }
  std::string label() { return fmt::format("$L_{}_{}", s_.prefix, labels_++); }
  std::string v() { return fmt::format("%v{}", dice_.roll(6)); }
  void mix(const std::string& value);  // into the accumulator

 private:
  void statement(Place place);
  void plain();  // one that stands anywhere
  // By kind, in files of their own.
  void arithmetic();
  void wide_arithmetic();
  void real_arithmetic();
  void special();
  void vector_load();
  void local_memory();
  void predicated();
  void scope();
  void shared_address();
  void condition(Place place);
  void loop(Place place);
  void table(Place place);
  void leave(Place place);
  void call(Place place);
  void exchange(bool dynamic);
  void barrier_reduction();
  void named_barrier();
  void hand_over();
  void shared_atomics();
  void asynchronous_copy();
  void warp();
  void generic();
  void global_atomics();
  std::string divergent();  // a predicate
  std::string same();       // a predicate that all threads of the block share

  Dice& dice_;
  Surroundings s_;
  bool ready_ = false;  // shared memory has been given values
  int temporaries_ = 0, wides_ = 0, predicates_ = 0, labels_ = 0;
};

}  // namespace gangway::testing::ptx
