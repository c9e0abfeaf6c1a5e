// NVIDIA's Multi-Process Service for child processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace gangway {

// An MPS control daemon, used only by programs started with `environment`, until it is destroyed; they should
// have ended by then.
class MpsDaemon {
 public:
  // Null if nvidia-cuda-mps-control is missing or does not start.
  static std::unique_ptr<MpsDaemon> start();
  ~MpsDaemon();
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;

  std::vector<std::string> environment() const;  // NAME=VALUE

 private:
  explicit MpsDaemon(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace gangway
