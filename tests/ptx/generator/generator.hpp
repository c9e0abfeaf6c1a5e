// Random PTX kernels whose output does not depend on how blocks and threads are scheduled: each block writes
// a region of its own, within a block threads exchange values through barriers only, and what several blocks
// add to commutes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/ptx/interpreter/interpreter.hpp"

namespace gangway::testing::ptx {

struct RandomKernel {
  std::string name;
  Extent grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  std::int64_t output_parameter = -1;  // the offset of the pointer to the output; -1: it is `output_variable`
  std::string output_variable;
  std::uint64_t region_bytes = 0;         // of a block, by its linear index
  std::uint64_t common_bytes = 64;        // for all blocks, behind the last one's region
  std::vector<std::byte> contents;        // of the output before; empty: a pattern
  std::vector<Range> inputs;              // what it may read and write beside its output
  std::map<std::string, int> constructs;  // how often each is in the kernel's text, functions included

  std::uint64_t output_bytes() const { return grid.count() * region_bytes + common_bytes; }
};

struct RandomModule {
  std::string text;
  std::vector<RandomKernel> kernels;
};

// The same seed gives the same module.
RandomModule random_module(std::uint64_t seed);

// Small, and the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed ^ 0x5851F42D4C957F2D) { state_ = bits() * bits(); }
  std::uint64_t bits();
  // 0, ..., below - 1
  std::uint32_t roll(std::uint32_t below) { return static_cast<std::uint32_t>(bits() % below); }
  std::uint32_t between(std::uint32_t first, std::uint32_t last) { return first + roll(last - first + 1); }
  bool one_in(std::uint32_t n) { return roll(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace gangway::testing::ptx
