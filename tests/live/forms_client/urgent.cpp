// A program of short urgent jobs.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "examples/live/gangway_priority.h"
#include "tests/live/forms_client/modes.hpp"

namespace gangway::forms_client {
namespace {

// Short urgent jobs until the file exists, at random moments.
int urgent(Gpu& gpu, const char* file) {
  if (const char* own = std::getenv("URGENT_PRIORITY")) gangway_set_priority(std::atoi(own));
  const CUstream stream = new_stream();
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, kThreads * 4));
  int jobs = 0;
  std::uint32_t dice = static_cast<std::uint32_t>(getpid());
  for (; access(file, F_OK) != 0; ++jobs) {
    std::uint32_t number = static_cast<std::uint32_t>(jobs), few = 3;
    launch(gpu.work, stream, 1, {&p, &number, &few});
    NEED(cuStreamSynchronize(stream));
    dice = dice * 1664525u + 1013904223u;
    std::this_thread::sleep_for(std::chrono::microseconds(200 + (dice >> 16) % 4000));
  }
  std::printf("urgent: %s\n", jobs > 0 ? "worked" : "nothing");
  return 0;
}
const Mode urgent_mode("urgent", urgent);

}  // namespace
}  // namespace gangway::forms_client
