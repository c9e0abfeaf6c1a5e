// On which machines an experiment's recordings were made, and on which devices they are played.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "experiments/points.hpp"

namespace gangway {

// One client's recording on one device. The device is another one than was recorded on where it has another
// number of SMs, or its memory differs by more than a tenth.
struct RecordedMachine {
  std::string client;
  std::string gpu;  // as its driver calls it
  std::uint32_t sms = 0;
  Bytes memory;
  std::string device;
  std::int64_t device_sms = 0;
  Bytes device_memory;

  bool is_another() const;
  friend auto operator<=>(const RecordedMachine&, const RecordedMachine&) = default;
};

class RecordedMachines {
 public:
  void see(const Point& point);
  std::vector<RecordedMachine> all() const { return {seen_.begin(), seen_.end()}; }

 private:
  std::set<RecordedMachine> seen_;
};

// A line for people for each device that is another one.
std::vector<std::string> notes_of_others(const std::vector<RecordedMachine>& machines);

}  // namespace gangway
