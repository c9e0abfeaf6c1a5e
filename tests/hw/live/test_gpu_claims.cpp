// Claims of GPUs beside files that are not what they should be. tests/live/test_claims.py has other daemons.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "experiments/results/files.hpp"
#include "hw/live/gpu_claims.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live {
namespace {

GpuFacts claimed_gpu(unsigned number) {
  GpuFacts gpu;
  gpu.number = number;
  gpu.uuid.fill(static_cast<unsigned char>(number + 1));
  return gpu;
}

TEST_CASE("a GPU is claimed by a file that everybody may read", "[live]") {
  const gangway::testing::ScratchFolder folder;
  const mode_t before = umask(0777);
  const GpuClaims claims({claimed_gpu(0), GpuFacts{}}, folder.path().string());
  umask(before);
  CHECK(claims.notes().empty());
  const auto file = folder.path() / "gangway-GPU-01010101-0101-0101-0101-010101010101";
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0444);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // none without a UUID
}

TEST_CASE("what stands in a claim's place is said, and nothing waits for it", "[live]") {
  const gangway::testing::ScratchFolder folder;
  const auto path = [&](unsigned number) {
    return (folder.path() / ("gangway-" + text_of(claimed_gpu(number).uuid))).string();
  };
  write_file(folder.path() / "somebody's", "");
  std::filesystem::create_symlink(folder.path() / "somebody's", path(0));
  REQUIRE(mkfifo(path(1).c_str(), 0644) == 0);
  std::filesystem::create_directory(path(2));
  const GpuClaims claims({claimed_gpu(0), claimed_gpu(1), claimed_gpu(2)}, folder.path().string());
  REQUIRE(claims.notes().size() == 3);
  CHECK(claims.notes()[0].starts_with(path(0) + ": Too many levels of symbolic links, so this daemon"));
  CHECK(claims.notes()[1] ==
        path(1) + ": not a regular file, so this daemon and others on GPU 1 do not see each other");
  CHECK(claims.notes()[2].starts_with(path(2) + ": not a regular file"));
  const GpuClaims nowhere({claimed_gpu(0)}, (folder.path() / "nowhere").string());
  REQUIRE(nowhere.notes().size() == 1);
  CHECK(nowhere.notes()[0].find("No such file or directory") != std::string::npos);
}

}  // namespace
}  // namespace gangway::live
