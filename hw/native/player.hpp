// Who plays native clients on a device: the real one, or a test's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hw/clock.hpp"
#include "hw/native/run.hpp"

namespace gangway {

// One process's use of the device. Each call but play() wants the device for itself: nobody else, in this
// process or another, has anything on it meanwhile. All throw RunError where the device fails.
class NativePlayer {
 public:
  virtual ~NativePlayer() = default;

  // Makes room for a run and reads the clocks; the first time it also keeps the device busy until its speed
  // is the usual one. The run must live until collect(). Waits and allocates.
  virtual void prepare(const NativeRun& run) = 0;
  // Issues each release's operations when it is due, counted from `origin`, and waits for the end of all.
  // Asks `stopped` now and then while nothing is due, and issues no more once it says so.
  virtual NativeMeasurement play(HostClock::Instant origin, const std::function<bool()>& stopped) = 0;
  // Completes what play() returned by what the device wrote down. Waits and allocates.
  virtual void collect(NativeMeasurement& measured) = 0;

  // As KernelMemory of hw/real_device.hpp has them, of all kernels with code.
  virtual void poison() = 0;
  virtual std::string difference() = 0;
};
using MakeNativePlayer = std::function<std::unique_ptr<NativePlayer>(const NativeSetup&)>;

}  // namespace gangway
