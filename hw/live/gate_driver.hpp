// What the gate knows of the driver.
#pragma once

#include <cstdint>

namespace gangway::live {

// A stream as the driver names it: a handle, or one of the default streams.
struct StreamName {
  static constexpr std::uint64_t kLegacy = 1, kPerThread = 2;
  std::uint64_t handle = kLegacy;  // kLegacy, kPerThread + 256 * thread, or the driver's handle
  std::uint64_t context = 0;       // of default streams: whose
  bool legacy() const { return handle == kLegacy; }
  bool per_thread() const { return (handle & 0xff) == kPerThread; }
  static StreamName of_this_thread(std::uint64_t context);
};

// What the gate asks of the driver. None of these blocks or harms a capture.
class Driver {
 public:
  using Event = void*;
  virtual ~Driver() = default;
  virtual bool capturing(const StreamName&) = 0;
  virtual std::uint64_t context(const StreamName&) = 0;  // of a stream that is no default stream
  virtual bool idle(const StreamName&) = 0;              // false too where it cannot be asked
  // Records the event (null: a new one) behind everything submitted to the stream so far. False: it cannot.
  virtual bool record(const StreamName&, Event&) = 0;
  virtual bool reached(Event, bool captures) = 0;  // `captures`: some are under way
};

}  // namespace gangway::live
