// A program of the tests that uses much device memory, and knows what must be in it: memory_client WHAT SEED
// STEPS MEBIBYTES [FILE]. It knows nothing of Gangway.
#include <cstdlib>

#include "tests/live/memory_client/modes.hpp"

int main(int argc, char** argv) {
  using gangway::memory_client::kMiB, gangway::memory_client::Mode, gangway::memory_client::Program;
  if (argc < 5) return 2;
  const auto mode = Mode::all().find(argv[1]);
  if (mode == Mode::all().end()) return 2;
  Program program(std::strtoull(argv[2], nullptr, 10));
  return mode->second(program, {std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10) * kMiB,
                                argc > 5 ? argv[5] : nullptr});
}
