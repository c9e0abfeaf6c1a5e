// A folder for files that are needed for a moment.
#pragma once

#include <string>

namespace gangway::transform {

// In $TMPDIR, else /tmp; this user's alone. Removed with all that is in it. RunError where none can be made.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gangway::transform
