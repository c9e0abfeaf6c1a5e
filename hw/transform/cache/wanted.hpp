// Modules that programs loaded unprepared. Programs note them in a folder of the cache, and `gangway prepare
// --wanted` prepares them for the next start.
//
// One file per module: a line with the file type and the GPU, a line with the fatbin's options, the PTX. The
// name is the module's key, so that programs with the same module note it once. It is written under another
// name and renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"

namespace gangway::transform {

inline constexpr std::size_t kMostWanted = 256, kLargestWanted = std::size_t{16} << 20;  // files, bytes

struct WantedModule {
  std::string gpu;  // sm_90
  std::string options, ptx;
};

// The folder of noted modules, inside the cache's.
std::string wanted_folder(const std::string& cache_folder);

// Called by the program that lacked the module. Does nothing if it is noted already, if it is larger than
// kLargestWanted, or if there are kMostWanted. RunError if it cannot be written or the folder is open to
// others.
void note_wanted(const std::string& cache_folder, const WantedModule& module);

// The noted modules, for one preparer at a time.
class WantedFiles {
 public:
  // RunError if the folder is open to others.
  explicit WantedFiles(const std::string& cache_folder);
  ~WantedFiles();
  WantedFiles(const WantedFiles&) = delete;
  WantedFiles& operator=(const WantedFiles&) = delete;
  bool locked() const { return lock_ >= 0; }  // false: another preparer is at work, or there is no folder

  // The next module not taken so far, in order of names. It stays noted until done(). One that was taken
  // twice without done() or keep() is dropped.
  std::optional<WantedModule> take();
  void done();  // the module taken last is prepared
  void keep();  // it is left for another time

 private:
  std::string folder_;
  int lock_ = -1;
  std::vector<std::string> names_;
  std::string taken_, was_;  // its name now, and before
};

}  // namespace gangway::transform
