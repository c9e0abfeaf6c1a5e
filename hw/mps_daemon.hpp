// NVIDIA's Multi-Process Service, for programs that this one starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace gangway {

// A control daemon of MPS for programs alone that get `environment`, until it is destroyed; they should have
// ended by then.
class MpsDaemon {
 public:
  // None where there is no nvidia-cuda-mps-control, or it does not start.
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
