// The machines on which recordings were made, and the devices on which they are played.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/sweeps/points.hpp"

namespace gangway {

// A client's recording on a device. The device counts as another one if the number of SMs differs, the memory
// differs by more than a tenth, or the recording's device is unknown.
struct RecordedMachine {
  std::string client;
  std::string gpu;  // name given by its driver
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
  // Labels of policies with MPS under which kernels of several programs do not wait for room here, as they do
  // on a chip: where kernels leave early or are sliced, or graphs' kernels are not known.
  std::vector<std::string> best_cases() const { return {best_cases_.begin(), best_cases_.end()}; }
  // One line each, for people: other devices, clients recorded beside other work on their GPU, best cases,
  // clients whose jobs take less when nobody records them, or may, programs that are not played as they were
  // recorded, clients whose memory counts as none, and what of the experiment has no effect on recorded
  // programs.
  std::vector<std::string> notes() const;

 private:
  void see_room(const Point& point, const Contender& policy, const std::set<std::string>& unknown);
  void see_settings(const Point& point, const Contender& policy);
  void see_program(const Client& client);
  void see_memory(const Point& point, const Contender& policy);

  std::set<RecordedMachine> seen_;
  std::set<std::string> best_cases_, under_mps_, leave_under_mps_, unknown_under_mps_, taken_beside_, slowed_,
      without_pauses_, graphs_unknown_;
  std::set<std::string> unrecorded_, not_as_recorded_;                        // lines
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> programs_;  // files and jobs
  std::set<std::string> without_memory_;                                      // lines
  std::set<std::string> unsliced_, without_effect_;  // labels of policies; what of files has no effect
};

}  // namespace gangway
