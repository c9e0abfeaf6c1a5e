// The daemon's second process, which checkpoints clients and restores them: the driver's calls about them
// block for as long as a copy takes, and whoever makes them has to outlive the daemon. When the daemon is
// gone, this process restores all that it has checkpointed, unless another daemon is there, to which they
// belong then.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hw/live/socket.hpp"

namespace gangway::live {

struct CheckpointOrder {
  enum class Act : std::uint32_t { look, save, restore };
  Act act = Act::look;
  pid_t process = 0;
  std::uint64_t ticket = 0;  // the answer has it too
};
struct CheckpointAnswer {
  CheckpointOrder order;
  std::int32_t error = 0;      // the driver's
  std::uint32_t hopeless = 0;  // it will not succeed another time either
  std::uint32_t state = 0;     // after it: DriverCheckpoints::State
  std::int64_t ns = 0;         // that it took
};

class CheckpointHelper {
 public:
  // Forks: call it while there is one thread. `socket`: the daemon's. RunError: what this machine's driver
  // cannot.
  explicit CheckpointHelper(std::string socket);
  ~CheckpointHelper();  // it goes on until everything is restored
  CheckpointHelper(const CheckpointHelper&) = delete;
  CheckpointHelper& operator=(const CheckpointHelper&) = delete;

  int socket() const { return socket_.get(); }
  bool send(const CheckpointOrder& order);
  // False: there is no answer yet, or the process is gone, as gone() then says.
  bool receive(CheckpointAnswer& answer);
  bool gone() const { return gone_; }
  pid_t process() const { return process_; }

 private:
  std::string daemon_;
  Descriptor socket_;
  pid_t process_ = -1;
  bool gone_ = false;
};

// Held by a daemon that has such a process as long as it is there, and by such a process while it restores
// clients without one. None: somebody else has it, or there can be no such file.
Descriptor lock_for_restoring(const std::string& socket, bool wait);

}  // namespace gangway::live
