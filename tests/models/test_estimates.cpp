#include "models/policy/estimates.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {

TEST_CASE("what is left of a program is the same whatever was asked before") {
  // Three clients, of which two share a place in what is kept; kernel k of client c takes 10 (k + 1) + c.
  constexpr std::uint32_t kKernels = 5;
  const std::uint32_t clients[] = {3, 67, 4};
  std::vector<KernelFacts> programs[3];
  for (std::uint32_t c = 0; c < 3; ++c)
    for (std::uint32_t k = 0; k < kKernels; ++k) {
      KernelFacts facts{};
      facts.block_tasks = BlockCount{10};
      facts.declared = Duration{10 * (k + 1) + c};
      programs[c].push_back(facts);
    }
  const Estimates estimates;
  for (const std::uint32_t job : {0u, 1u})
    for (std::uint32_t k = 0; k <= kKernels; ++k)
      for (std::uint32_t c = 0; c < 3; ++c)
        for (const std::int64_t done : {0, 5}) {
          JobFacts facts;
          facts.id = {ClientId{clients[c]}, job};
          facts.kernels = programs[c];
          facts.kernel = k;
          facts.done = BlockCount{done};
          Duration all, left;
          for (std::uint32_t each = 0; each < kKernels; ++each) {
            all += programs[c][each].declared;
            if (each > k) left += programs[c][each].declared;
          }
          if (k < kKernels) left += Duration{programs[c][k].declared.ns * (10 - done) / 10};
          CHECK(estimates.total(facts) == all);
          CHECK(estimates.left(facts) == left);
          CHECK(estimates.left(facts) == left);  // again
        }
}

}  // namespace gangway::testing
