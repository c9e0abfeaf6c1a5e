// What EffiSha's mechanisms have in common (6.2, 6.3): the kernel's state is a word of host memory, written
// by the scheduler; the kernel notices it by reading, and the client's host thread launches it again.
// Progress stays in device memory, so nothing is read back.
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
  // How long after the order blocks can find the flag, and from one look of a block to its next.
  struct Look {
    Duration seen, interval;
  };
  virtual Look look(const Kernel& kernel, const Device& device) const = 0;

  // Blocks of the kernel at once: with the device to itself, but no more than it has block-tasks.
  static std::int64_t blocks(const Kernel& kernel, const Device& device);

 private:
  double useful_;
  Duration host_wait_;
};

// One block of the kernel does no block-tasks but reads the state in host memory and keeps a copy of it in
// device memory for the others (EffiSha, 6.3).
class ProxyMechanism : public PollingMechanism {
 public:
  using PollingMechanism::PollingMechanism;
  Duration running_time(const Kernel& kernel, const Device& device) const override;
  std::optional<Refusal> refusal(const Kernel& kernel, const Device& device) const override;

 protected:
  Look look(const Kernel& kernel, const Device& device) const override;
  // Every so many block-tasks a block reads the copy.
  virtual std::int64_t checked_every(const Kernel&, const Device&) const { return 1; }
};

}  // namespace gangway
