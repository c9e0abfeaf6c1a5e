// The daemon's second process, which checkpoints and restores clients. It is a process of its own for two
// reasons: the driver's calls block for as long as a copy takes, and their caller must outlive the daemon.
// When the daemon ends, this process restores all clients that it has checkpointed, except those that belong
// to another daemon by then. Definition: hw/live/checkpoint/README.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hw/live/gpus/gpu_name.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

struct CheckpointOrder {
  // move: save, then restore on another GPU, or on the old one if that fails. The helper records the new GPU
  // on the client page that comes with the order, because that page outlives daemon and helper.
  enum class Act : std::uint32_t { look, save, restore, move };
  Act act = Act::look;
  pid_t process = 0;
  std::uint64_t ticket = 0;            // identifies the order in its answer
  GpuUuid from = kNoGpu, to = kNoGpu;  // of a move
};
struct CheckpointAnswer {
  CheckpointOrder order;
  std::int32_t error = 0;      // the driver's
  std::uint32_t hopeless = 0;  // 1: trying again would fail, too
  std::uint32_t state = 0;     // of the process afterwards: DriverCheckpoints::State
  std::int64_t ns = 0;         // duration
  std::int64_t save_ns = 0;    // of a move: duration until the state was on the host
  std::uint32_t moved = 0;     // of a move: 1: the process is on the other GPU
};

class CheckpointHelper {
 public:
  // Forks, so call it while the process has one thread. `socket`: path of the daemon's socket. The process
  // then starts the driver, which can take seconds. RunError: there cannot be such a process.
  explicit CheckpointHelper(std::string socket);
  // Until it is ready. RunError: this machine's driver cannot checkpoint processes.
  void await_start();
  ~CheckpointHelper();  // the process continues until all clients are restored
  CheckpointHelper(const CheckpointHelper&) = delete;
  CheckpointHelper& operator=(const CheckpointHelper&) = delete;

  int socket() const { return socket_.get(); }
  // Nothing can be sent before receive() has found it ready.
  bool ready() const { return ready_; }
  bool starts_for_too_long() const;                        // receive() will find it gone
  const std::string& why_not() const { return why_not_; }  // it is gone, and was never ready
  // `page`: the client page of a process that is to move, else -1.
  bool send(const CheckpointOrder& order, int page = -1);
  // False: there is no answer yet, or the process is gone, as gone() then says.
  bool receive(CheckpointAnswer& answer);
  bool gone() const { return gone_; }
  pid_t process() const { return process_; }

 private:
  void hear_ready();

  std::string daemon_, why_not_;
  Descriptor socket_;
  pid_t process_ = -1;
  std::int64_t began_;
  bool ready_ = false, gone_ = false;
};

// A lock that a daemon with a helper holds, and a helper without a daemon while it restores clients. `wait`:
// until it is free. None: another process has it (errno: EWOULDBLOCK), or the file cannot be created.
Descriptor lock_for_restoring(const std::string& socket, bool wait);

}  // namespace gangway::live
