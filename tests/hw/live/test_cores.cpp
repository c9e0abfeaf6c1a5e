// Quotas of processor time, in control groups that the tests write.
#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "experiments/results/files.hpp"
#include "hw/live/cores.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live {
namespace {

struct Groups {
  Groups() {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    affinity = CPU_COUNT(&allowed);
  }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    write_file(root / path, text);
  }
  double cores() const { return usable_cores(root.path().string()); }

  gangway::testing::ScratchFolder root;
  double affinity = 0;
};

}  // namespace

TEST_CASE("A process may use the cores of its affinity, or less by a quota of its groups", "[live]") {
  Groups groups;
  CHECK(groups.cores() == groups.affinity);  // no groups
  SECTION("version 2") {
    groups.write("proc/self/cgroup", "0::/user.slice/session\n");
    groups.write("sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n");
    CHECK(groups.cores() == groups.affinity);
    groups.write("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    CHECK(groups.cores() == 0.5);  // of a group above it
    groups.write("sys/fs/cgroup/user.slice/session/cpu.max", "25000 100000\n");
    CHECK(groups.cores() == 0.25);
    groups.write("sys/fs/cgroup/user.slice/session/cpu.max", "nonsense");
    CHECK(groups.cores() == 0.5);
  }
  SECTION("in a container") {
    groups.write("proc/self/cgroup", "0::/\n");
    groups.write("sys/fs/cgroup/cpu.max", "75000 100000\n");
    CHECK(groups.cores() == 0.75);
  }
  SECTION("a container that sees its host's path") {
    groups.write("proc/self/cgroup", "0::/docker/0123\n");
    groups.write("sys/fs/cgroup/cpu.max", "75000 100000\n");
    CHECK(groups.cores() == 0.75);
  }
  SECTION("version 1") {
    groups.write("proc/self/cgroup", "9:name=systemd:/\n4:cpuset:/a\n1:cpuacct,cpu:/a/b\n0::/\n");
    groups.write("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    groups.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "20000\n");
    groups.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    CHECK(groups.cores() == std::min(groups.affinity, 0.4));
  }
  SECTION("more than there are") {
    groups.write("proc/self/cgroup", "0::/\n");
    groups.write("sys/fs/cgroup/cpu.max", "100000000 100000\n");
    CHECK(groups.cores() == groups.affinity);
  }
}

}  // namespace gangway::live
