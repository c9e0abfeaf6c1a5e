// A temporary folder.
#pragma once

#include <string>

namespace gangway::transform {

// Created in $TMPDIR, else /tmp, for this user only. Removed with its content. RunError if it cannot be made.
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
