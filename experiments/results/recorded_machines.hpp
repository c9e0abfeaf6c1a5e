// On which machines an experiment's recordings were made, and on which devices they are played.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "experiments/sweeps/points.hpp"

namespace gangway {

// One client's recording on one device. The device is another one than was recorded on where it has another
// number of SMs, or its memory differs by more than a tenth, or where that of the recording is not known.
struct RecordedMachine {
  std::string client;
  std::string gpu;  // as its driver calls it
  std::uint32_t sms = 0;
  Bytes memory;
  std::string device;
  std::int64_t device_sms = 0;
  Bytes device_memory;

  bool is_known() const { return sms > 0 && memory.count > 0; }
  bool is_another() const;
  friend auto operator<=>(const RecordedMachine&, const RecordedMachine&) = default;
};

class RecordedMachines {
 public:
  void see(const Point& point);
  std::vector<RecordedMachine> all() const { return {seen_.begin(), seen_.end()}; }
  // Policies, by label, under which kernels of several programs are on a GPU at once (MPS), which slow each
  // other down on a chip, but not here.
  std::vector<std::string> best_cases() const { return {best_cases_.begin(), best_cases_.end()}; }
  // One line each, for people: devices that are others, clients whose times were taken beside other work on
  // their GPU, and best cases.
  std::vector<std::string> notes() const;

 private:
  std::set<RecordedMachine> seen_;
  std::set<std::string> best_cases_, taken_beside_;
};

}  // namespace gangway
