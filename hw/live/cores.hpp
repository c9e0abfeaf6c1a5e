// The cores that this process may use.
#pragma once

#include <string>

namespace gangway::live {

// Those of its affinity, or fewer if a control group (v2 or v1) that it is in, or one above that, has a quota
// of processor time. `root` is put before the paths of /proc and /sys.
double usable_cores(const std::string& root = {});

// Whether there are so many that threads that only poll have one to themselves.
inline bool has_many_cores() {
  constexpr double kFew = 3;
  return usable_cores() > kFew;
}

}  // namespace gangway::live
