#include "hw/live/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

namespace gangway::live {
namespace {

std::optional<double> quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::strtod(quota.c_str(), nullptr) / period;
}

std::optional<double> quota_v1(const std::string& folder) {
  double quota = 0, period = 0;
  if (!(std::ifstream(folder + "/cpu.cfs_quota_us") >> quota) || quota <= 0) return std::nullopt;
  if (!(std::ifstream(folder + "/cpu.cfs_period_us") >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

// Of a group and all above it. In a container the path can be the host's, which is not there: then only the
// topmost folder counts, which is the container's own.
template <typename Quota>
double least(double cores, const std::string& top, std::string group, const Quota& quota) {
  for (;;) {
    if (const auto found = quota(top + group)) cores = std::min(cores, *found);
    const std::size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return cores;
    group.resize(slash);
  }
}

}  // namespace

double usable_cores(const std::string& root) {
  cpu_set_t allowed;
  double cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    std::istringstream fields(line);
    std::string number, controllers, path;
    if (!std::getline(fields, number, ':') || !std::getline(fields, controllers, ':') ||
        !std::getline(fields, path))
      continue;
    if (path == "/") path.clear();
    if (number == "0" && controllers.empty()) cores = least(cores, root + "/sys/fs/cgroup", path, quota_v2);
    if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      cores = least(cores, root + "/sys/fs/cgroup/cpu", path, quota_v1);
  }
  return cores;
}

}  // namespace gangway::live
