// Which process schedules a GPU, for other daemons to see, also those of other users. A claim is a shared
// lock on a file that everybody may read, so nobody can keep others from a GPU by it. Daemons in containers
// see each other's claims only if they share the folder, and name each other only if they share process
// numbers.
#pragma once

#include <string>
#include <vector>

#include "hw/live/gpus/gpu_list.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

inline constexpr const char* kClaimsFolder = "/dev/shm";

class GpuClaims {
 public:
  // Claims those GPUs whose UUID is known, until this process ends or the claims do. One at a time in a
  // process: another one's end would end the claims on the same GPUs.
  explicit GpuClaims(const std::vector<GpuFacts>& gpus, const std::string& folder = kClaimsFolder);
  // A line for each other process that claims some of them, and for each claim that could not be made.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<Descriptor> files_;
  std::vector<std::string> notes_;
};

}  // namespace gangway::live
