// Common to EffiSha's mechanisms (6.2, 6.3): the kernel's state is a word in host memory, written by the
// scheduler and read by the kernel; the client's host thread relaunches the kernel. Progress stays in device
// memory, so nothing is read back.
#pragma once

#include <vector>

#include "models/mechanism.hpp"

namespace gangway {

class PollingMechanism : public Mechanism {
 public:
  explicit PollingMechanism(const ParameterValues& values);

  CommandDelays delays(const Kernel& kernel, const Device& device) const final;
  std::optional<Refusal> refusal(const Kernel& kernel, const Device& device) const override;

  static std::vector<Parameter> parameters(std::vector<Parameter> own = {});

 protected:
  // When blocks can first find the flag after the order, and the interval between a block's looks, which is
  // so many block-tasks.
  struct Look {
    Duration seen, interval;
    std::int64_t every = 1;
  };
  virtual Look look(const Kernel& kernel, const Device& device) const = 0;

  // Resident blocks with the device to itself, at most one per block-task.
  static std::int64_t blocks(const Kernel& kernel, const Device& device);

 private:
  double useful_;
  Duration host_wait_;
};

// One block does no block-tasks; it reads the state in host memory and keeps a copy in device memory for the
// others (EffiSha, 6.3).
class ProxyMechanism : public PollingMechanism {
 public:
  using PollingMechanism::PollingMechanism;
  Duration running_time(const Kernel& kernel, const Device& device) const override;
  std::optional<Refusal> refusal(const Kernel& kernel, const Device& device) const override;

 protected:
  Look look(const Kernel& kernel, const Device& device) const override;
  // Number of block-tasks between a block's reads of the copy.
  virtual std::int64_t checked_every(const Kernel&, const Device&) const { return 1; }
};

}  // namespace gangway
