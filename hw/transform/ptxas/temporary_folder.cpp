#include "hw/transform/ptxas/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "models/error.hpp"

namespace gangway::transform {

TemporaryFolder::TemporaryFolder() {
  const char* const chosen = std::getenv("TMPDIR");
  path_ = std::string(chosen != nullptr && *chosen != '\0' ? chosen : "/tmp") + "/gangway-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw RunError(path_ + ": " + std::strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gangway::transform
