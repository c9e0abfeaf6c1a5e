// What one sequence works on, and who touched what last, so that its results do not depend on timing.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/differential_driver/functions.hpp"

namespace gangway::differential {

using Word = std::uint32_t;

constexpr unsigned lanes = 6, words = 6, slots = 8;

// Streams: NULL as legacy, per-thread, two blocking, two apart.
struct World {
  CUstream streams[lanes] = {};
  CUdeviceptr device = 0;  // `words` of them
  Word* pinned = nullptr;  // `slots` of them, written by copies and host functions
  CUfunction mix = nullptr, fill = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;  // mixes into word 0

  World();
  CUdeviceptr word(unsigned i) const { return device + i * sizeof(Word); }
};

// What a sequence prints of itself: every result and value, as text and as a sum.
class Told {
 public:
  explicit Told(bool aloud) : aloud_(aloud) {}
  void result(const char* call, CUresult);
  void ready_or_not(const char* call,
                    CUresult);  // success and not-ready are the same: it is a matter of timing
  void value(const char* name, std::uint64_t);
  std::uint64_t sum() const { return sum_; }

 private:
  void add(const std::string&);

  bool aloud_;
  std::uint64_t sum_ = 14695981039346656037ULL;
};

std::uint64_t run_sequence(World&, std::uint64_t seed, bool aloud);

}  // namespace gangway::differential
