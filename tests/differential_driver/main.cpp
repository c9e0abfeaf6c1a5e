// Runs random sequences of driver calls and prints a sum of each one's results.
//   gangway_driver_sequences FIRST COUNT      one line a sequence: its seed and its sum
//   gangway_driver_sequences SEED             every call of one sequence, and its result
#include "tests/differential_driver/world.hpp"

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: gangway_driver_sequences FIRST [COUNT]\n");
    return 2;
  }
  gangway::differential::World world;
  const auto first = std::strtoull(arguments[1], nullptr, 10);
  const auto sequences = count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  for (auto seed = first; seed < first + sequences; ++seed)
    std::printf("%llu %016llx\n", seed,
                static_cast<unsigned long long>(run_sequence(world, seed, count == 2)));
}
