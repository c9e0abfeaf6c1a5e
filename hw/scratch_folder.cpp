#include "hw/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "models/error.hpp"

namespace gangway {
namespace {

std::string for_temporary_files() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

}  // namespace

ScratchFolder::ScratchFolder() : ScratchFolder(for_temporary_files() + "/gangway-") {}

ScratchFolder::ScratchFolder(const std::string& beginning) : path_(beginning + "XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw RunError(path_ + ": " + std::strerror(errno));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gangway
