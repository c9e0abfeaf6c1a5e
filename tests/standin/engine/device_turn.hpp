// Processes that name the same file in STANDIN_DEVICE_LOCK have the device one at a time.
#pragma once

namespace gangway::standin {

// While one is alive with `taken`, the device is this process's. Operations of one process share a turn of at
// most 2 ms; after that no operation joins it, so that others get theirs.
class DeviceTurn {
 public:
  explicit DeviceTurn(bool taken);
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  ~DeviceTurn();

 private:
  bool taken_;
};

}  // namespace gangway::standin
