// Asks a driver, the stand-in or a GPU's, the same questions, and prints the answers: no times, no addresses.
//   gangway_driver_conformance [TOPIC...]
// Exit code 1 when a topic did not come to its end.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/conformance_driver/topics.hpp"

namespace {

using namespace gangway::conformance;

constexpr struct {
  const char* name;
  void (*run)();
} topics[] = {{"beginnings", beginnings},
              {"contexts", contexts},
              {"launches", launches},
              {"modules", modules},
              {"memory", memory},
              {"streams", streams},
              {"legacy_streams", legacy_streams},
              {"waiting_calls", waiting_calls},
              {"events", events},
              {"host_functions", host_functions},
              {"values", values},
              {"captures", captures},
              {"capture_errors", capture_errors},
              {"capture_modes", capture_modes},
              {"graphs", graphs},
              {"addresses", addresses},
              {"error_texts", error_texts},
              {"faults", faults}};

// A hang or a crash costs its topic only. True: it came to its end.
bool run_apart(const char* name, void (*run)()) {
  std::printf("== %s\n", name);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    run();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) std::printf("%s: ended by signal %d\n", name, WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool wanted(const char* name, int count, char** names) {
  for (int i = 1; i < count; ++i)
    if (std::strcmp(names[i], name) == 0) return true;
  return count < 2;
}

}  // namespace

int main(int count, char** names) {
  // A kernel that is loaded at its first launch would wait for the kernels that are held.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  bool whole = true;
  for (const auto& [name, run] : topics)
    if (wanted(name, count, names)) whole = run_apart(name, run) && whole;
  return whole ? 0 : 1;
}
