// Measures how a device shares its time between contexts.
#pragma once

#include <cstdint>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

// Kernels in one stream, each of one thread, or of as many as the device holds.
struct ProbeWork {
  enum class Pace {
    queued,    // all are submitted at once
    requests,  // each `pause` after the host has seen the previous one end
    steady,    // each `pause` after the previous one was submitted
  };
  std::int64_t kernels = 1;
  Duration length;  // device time of each
  Pace pace = Pace::queued;
  Duration pause{};
  bool full = false;
};

// A kernel's uninterrupted time on the device, on the device's clock, which contexts share.
struct ProbeStay {
  std::int64_t kernel = 0;
  Time begin, end;
  bool first = true, last = true;  // whether its kernel began or ended there, rather than being stopped
};

class SharingProbe {
 public:
  virtual ~SharingProbe() = default;

  // Does the work and waits for it. Stays are ordered by beginning. Throws RunError.
  virtual std::vector<ProbeStay> run(const ProbeWork& work) = 0;
};

}  // namespace gangway
