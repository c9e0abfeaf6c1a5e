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
          facts.over = k == kKernels;
          Duration all, left;
          for (std::uint32_t each = 0; each < kKernels; ++each) {
            all += *programs[c][each].declared;
            if (each > k) left += *programs[c][each].declared;
          }
          if (k < kKernels) left += Duration{programs[c][k].declared->ns * (10 - done) / 10};
          facts.work.alone = all;
          CHECK(estimates.total(facts) == all);
          CHECK(estimates.left(facts) == left);
          CHECK(estimates.left(facts) == left);  // again
        }
}

TEST_CASE("a job without kernels takes what is declared, or what most of its program took") {
  const auto job = [](std::uint32_t program, std::int64_t served, std::optional<Duration> alone = {}) {
    JobFacts facts;
    facts.over = false;
    facts.program = program;
    facts.work = {alone, Duration{served}};
    return facts;
  };
  Estimates estimates;
  CHECK(estimates.total(job(3, 0)) == Duration{0});
  CHECK(estimates.left(job(3, 0, Duration{70})) == Duration{70});
  for (const std::int64_t took : {100, 900, 110}) estimates.finished(3, Duration{took});
  CHECK(estimates.total(job(3, 0)) == Duration{110});
  CHECK(estimates.left(job(3, 30)) == Duration{80});
  CHECK(estimates.left(job(3, 200)) == Duration{0});  // longer than usual
  CHECK(estimates.total(job(3, 0, Duration{70})) == Duration{70});
  CHECK(estimates.total(job(4, 0)) == Duration{0});
  for (int i = 0; i < 31; ++i) estimates.finished(3, Duration{500});  // earlier ones are forgotten
  CHECK(estimates.total(job(3, 0)) == Duration{500});
}

TEST_CASE("a kernel whose time is not declared is learnt") {
  std::vector<KernelFacts> program(2);
  program[0].block_tasks = program[1].block_tasks = BlockCount{10};
  program[1].declared = Duration{40};
  JobFacts facts;
  facts.over = false;
  facts.kernels = program;
  Estimates estimates;
  CHECK(estimates.total(facts) == Duration{40});
  estimates.saw(facts, 0, Duration{60}, BlockCount{5});
  CHECK(estimates.total(facts) == Duration{160});
  estimates.saw(facts, 1, Duration{1000}, BlockCount{10});  // its time is given
  facts.done = BlockCount{5};
  CHECK(estimates.left(facts) == Duration{100});
}

}  // namespace gangway::testing
