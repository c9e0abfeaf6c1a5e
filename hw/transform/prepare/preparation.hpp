// `gangway prepare`: compiles kernels before programs launch them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

struct PrepareSettings {
  std::vector<std::string> files;
  bool libraries = false;  // include linked libraries
  Architecture gpu = kUsualGpu;
  unsigned jobs = 1;
  std::uint64_t most_bytes = 0;  // cache limit
};

struct PrepareProgress {
  std::size_t done = 0, modules = 0;
  double seconds = 0;
};

struct PrepareReport {
  std::size_t modules = 0;  // with PTX that the GPU can run
  std::size_t present = 0, prepared = 0;
  std::size_t formless = 0, rejected = 0;
  std::size_t tried = 0;     // of the two above, those known beforehand
  std::size_t without = 0;   // modules without such PTX
  std::size_t carrying = 0;  // modules whose cubin contains forms (`gangway ptxas`)
  std::size_t other = 0;     // modules whose PTX may be of another text than the code that runs
  std::size_t kernels = 0, forms = 0;
  std::size_t removed = 0;         // old entries, to make room
  std::vector<std::string> notes;  // one line each
  bool interrupted = false;
};

// InputError as read_images(). RunError if there is no assembler, it fails, or the cache is unusable;
// finished modules stay. Several threads call `progress`, one at a time.
PrepareReport prepare(const PrepareSettings& settings, const std::atomic<bool>& interrupted,
                      const std::function<void(const PrepareProgress&)>& progress);

// The modules that programs noted because nobody had prepared them (hw/transform/cache/wanted.hpp), one after
// the other, each for its own GPU. Does nothing if another process is doing so. RunError as above.
PrepareReport prepare_wanted(const PrepareSettings& settings, const std::atomic<bool>& interrupted);

// Text for a terminal.
std::string to_text(const PrepareReport& report, const PrepareSettings& settings);

}  // namespace gangway::transform
