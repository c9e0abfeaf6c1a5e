// States that are held, and jobs that change a little of them.
#include <unistd.h>

#include <string>

#include "tests/live/memory_client/modes.hpp"

namespace gangway::memory_client {
namespace {

// So many random steps, each followed by a wait now and then, so that turns can end.
int random_steps(Program& program, int steps, std::size_t most) {
  for (int s = 0; s < steps; ++s) {
    program.step(most);
    if (program.below(4) == 0) program.wait();
  }
  program.check_all();
  program.free_all();
  std::printf("random %d\n", steps);
  return 0;
}

// A state of that size in blocks of `each` bytes, and jobs that change a little of it; until there is a
// file, if one is named.
int holds(Program& program, int jobs, std::size_t most, std::size_t each, const char* file) {
  while (program.held() + each + 4 * kMiB <= most)
    if (!program.allocate(each, Block::plain)) {
      std::printf("no memory at %zu\n", program.held() / kMiB);
      return 6;
    }
  program.allocate(most > program.held() ? most - program.held() : 4, Block::plain);
  program.wait();
  std::printf("holds %zu\n", program.held() / kMiB);
  std::fflush(stdout);
  int job = 0;
  for (; file != nullptr ? access(file, F_OK) != 0 : job < jobs; ++job) {
    for (Block& block : program.blocks()) program.change(block);
    program.work(1000);
    program.wait();
    if (job % 16 == 0) program.check_all();
  }
  program.check_all();
  std::printf("jobs %s\n", file != nullptr ? "many" : std::to_string(job).c_str());
  return 0;
}

// A state, and in each job memory that is allocated and freed in a stream's order: always the same, or
// another half the time.
int churns(Program& program, int jobs, std::size_t most) {
  while (program.held() + 20 * kMiB <= most)
    if (!program.allocate(20 * kMiB, Block::plain)) return 6;
  for (int job = 0; job < jobs; ++job) {
    const std::size_t before = program.blocks().size();
    for (int k = 0; k < 4; ++k)
      if (!program.allocate((program.below(2) == 0 ? 2 : 3 + program.below(6)) * kMiB, Block::ordered))
        return 6;
    for (Block& block : program.blocks()) program.change(block);
    program.work(1000);
    if (job % 16 == 0) program.check_all();
    while (program.blocks().size() > before) program.free(program.blocks().size() - 1);
    if (job % 4 == 0) program.wait();
  }
  program.check_all();
  std::printf("churns %d\n", jobs);
  return 0;
}

// 40 MiB that kernels only read, beside a state that changes; until there is a file. The 40 MiB are set again
// now and then, or an operation writes a word of them, or a kernel does.
enum class Writes { sets, words, kernel };
int reads(Program& program, Writes how, const char* file) {
  if (!program.allocate(40 * kMiB, Block::plain) || !program.allocate(20 * kMiB, Block::plain)) return 6;
  program.wait();
  std::printf("holds %zu\n", program.held() / kMiB);
  std::fflush(stdout);
  for (int job = 1; access(file, F_OK) != 0; ++job) {
    program.change(program.blocks()[1]);
    Block& read = program.blocks()[0];
    if (how == Writes::kernel && job > 20 && job % 8 == 0) program.change(read);
    if (how == Writes::words && job % 8 == 0) program.set_word(read, job % 16 == 0);
    if (how == Writes::sets && job % 64 == 0) program.write(read);
    program.work(1000);
    program.wait();
    if (job % 16 == 0) program.check_all();
  }
  program.check_all();
  std::printf("jobs many\n");
  return 0;
}

// How much memory it gets, in pieces of a mebibyte.
int takes(Program& program) {
  int got = 0;
  while (program.allocate(kMiB, Block::plain)) ++got;
  std::printf("takes %d\n", got);
  program.check_all();
  program.free_all();
  return 0;
}

const Mode random_mode("random", [](Program& program, const Arguments& given) {
  return random_steps(program, given.steps, given.most);
});
const Mode holds_mode("holds", [](Program& program, const Arguments& given) {
  return holds(program, given.steps, given.most, 20 * kMiB, given.file);
});
const Mode large_mode("large", [](Program& program, const Arguments& given) {
  return holds(program, given.steps, given.most, given.most - 4 * kMiB, given.file);
});
const Mode takes_mode("takes", [](Program& program, const Arguments&) { return takes(program); });
const Mode churns_mode("churns", [](Program& program, const Arguments& given) {
  return churns(program, given.steps, given.most);
});
const Mode reads_mode("reads", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : reads(program, Writes::sets, given.file);
});
const Mode words_mode("words", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : reads(program, Writes::words, given.file);
});
const Mode spoils_mode("spoils", [](Program& program, const Arguments& given) {
  return given.file == nullptr ? 2 : reads(program, Writes::kernel, given.file);
});

}  // namespace
}  // namespace gangway::memory_client
