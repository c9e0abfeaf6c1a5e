// The daemon's second process, which checkpoints clients and restores them: the driver's calls about them
// block for as long as a copy takes, and whoever makes them has to outlive the daemon. When the daemon is
// gone, this process restores all that it has checkpointed, unless another daemon is there, to which they
// belong then.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hw/live/gpus/gpu_name.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

struct CheckpointOrder {
  // move: save, and restore on another GPU; where that fails, on the old one again. Once the process is on
  // the other GPU its client page, which comes with the order, says so: that outlives daemon and helper.
  enum class Act : std::uint32_t { look, save, restore, move };
  Act act = Act::look;
  pid_t process = 0;
  std::uint64_t ticket = 0;            // the answer has it too
  GpuUuid from = kNoGpu, to = kNoGpu;  // of a move
};
struct CheckpointAnswer {
  CheckpointOrder order;
  std::int32_t error = 0;      // the driver's
  std::uint32_t hopeless = 0;  // it will not succeed another time either
  std::uint32_t state = 0;     // after it: DriverCheckpoints::State
  std::int64_t ns = 0;         // that it took
  std::int64_t save_ns = 0;    // of a move: until its state was on the host
  std::uint32_t moved = 0;     // likewise: it is on the other GPU
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
  // `page`: the client page of a process that is to move, else -1.
  bool send(const CheckpointOrder& order, int page = -1);
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
