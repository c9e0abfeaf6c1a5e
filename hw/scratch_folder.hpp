// A folder for what is needed for a while.
#pragma once

#include <string>

namespace gangway {

// For this user only; removed with its content.
class ScratchFolder {
 public:
  ScratchFolder();  // in $TMPDIR, else /tmp
  // At this path and six more letters. RunError if it cannot be made.
  explicit ScratchFolder(const std::string& beginning);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gangway
