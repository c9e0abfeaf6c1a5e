#include "hw/host/host_device.hpp"

#include <algorithm>

namespace gangway {

unsigned HostDevice::usual_workers() { return std::max(2u, std::thread::hardware_concurrency()) - 1; }

void HostDevice::relax() {
  if (workers_.crowded())
    std::this_thread::yield();
  else
    pause_briefly();
}

bool HostDevice::settle(Duration limit) {
  const auto began = HostClock::now();
  copies_.abandon();
  while (!workers_.gone() || !copies_.done()) {
    if (HostClock::now() - began > limit) return false;
    relax();
  }
  return true;
}

}  // namespace gangway
