// Plays native clients on a device: the real one, or a test's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hw/clock.hpp"
#include "hw/native/run.hpp"

namespace gangway {

// One process's use of the device. During each call except play(), nothing else may be on the device, from
// this process or others. All throw RunError if the device fails.
class NativePlayer {
 public:
  virtual ~NativePlayer() = default;

  // Prepares a run and reads the clocks; the first time also warms up the device. The run must live until
  // collect(). Waits and allocates.
  virtual void prepare(const NativeRun& run) = 0;
  // Issues each release's operations when due, counted from `origin`, and waits for all to end. Polls
  // `stopped` while nothing is due, and issues nothing after it returns true.
  virtual NativeMeasurement play(HostClock::Instant origin, const std::function<bool()>& stopped) = 0;
  // Adds to play()'s result what the device recorded. Waits and allocates.
  virtual void collect(NativeMeasurement& measured) = 0;

  // As KernelMemory in hw/real_device.hpp, for all kernels with code.
  virtual void poison() = 0;
  virtual std::string difference() = 0;
};
using MakeNativePlayer = std::function<std::unique_ptr<NativePlayer>(const NativeSetup&)>;

}  // namespace gangway
