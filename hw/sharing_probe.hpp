// What a context does on a device to show how the device shares its time between contexts.
#pragma once

#include <cstdint>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

// Kernels of one block, in one stream.
struct ProbeWork {
  enum class Pace {
    queued,    // all are submitted at once
    requests,  // each `pause` after the host has seen the end of the one before
    steady,    // each `pause` after the one before was submitted
  };
  std::int64_t kernels = 1;
  Duration length;  // of each, of time on the device
  Pace pace = Pace::queued;
  Duration pause{};
};

// A kernel's uninterrupted time on the device, by the device's clock, which all contexts share.
struct ProbeStay {
  std::int64_t kernel = 0;
  Time begin, end;
  bool first = true, last = true;  // of its kernel's: it began or ended there, and was not stopped
};

class SharingProbe {
 public:
  virtual ~SharingProbe() = default;

  // Does the work and waits for its end. Stays in the order of their begins. Throws RunError.
  virtual std::vector<ProbeStay> run(const ProbeWork& work) = 0;
};

}  // namespace gangway
