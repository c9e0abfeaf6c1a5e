// The driver as the gate sees it.
#pragma once

#include <cstdint>

namespace gangway::live {

// A stream's name: a handle, or a default stream.
struct StreamName {
  static constexpr std::uint64_t kLegacy = 1, kPerThread = 2;
  std::uint64_t handle = kLegacy;  // kLegacy, kPerThread + 256 * thread, or the driver's handle
  std::uint64_t context = 0;       // of default streams: their context
  bool legacy() const { return handle == kLegacy; }
  bool per_thread() const { return (handle & 0xff) == kPerThread; }
  static StreamName of_this_thread(std::uint64_t context);
};

// The gate's queries to the driver. None blocks or disturbs a capture.
class Driver {
 public:
  using Event = void*;
  virtual ~Driver() = default;
  virtual bool capturing(const StreamName&) = 0;
  virtual std::uint64_t context(const StreamName&) = 0;  // of a non-default stream
  virtual bool idle(const StreamName&) = 0;              // also false if it cannot be queried
  // Records the event (null: a new one) behind all work submitted to the stream. False on failure.
  virtual bool record(const StreamName&, Event&) = 0;
  virtual bool reached(Event, bool captures) = 0;  // `captures`: some are in progress
  virtual void destroy(Event) = 0;
};

}  // namespace gangway::live
