// UUniFast (Bini and Buttazzo, Measuring the Performance of Schedulability Tests, 2005): evenly over all ways
// to share a total; what has a share above the limit is drawn again (Davis and Burns, Improved Priority
// Assignment for Global Fixed Priority Pre-emptive Scheduling, 2011).
#include <algorithm>
#include <cmath>

#include "models/error.hpp"
#include "workloads/taskset_generator.hpp"

namespace gangway {
namespace {

constexpr int kMostDiscards = 1'000'000;

std::vector<double> uunifast_discard(std::size_t tasks, double total, double most, Stream& random) {
  std::vector<double> shares(tasks);
  for (int n = 0; n < kMostDiscards; ++n) {
    double left = total;
    for (std::size_t i = 0; i + 1 < tasks; ++i) {
      const double next = left * std::pow(1 - random.uniform(), 1 / static_cast<double>(tasks - 1 - i));
      shares[i] = left - next;
      left = next;
    }
    shares.back() = left;
    if (std::all_of(shares.begin(), shares.end(), [&](double u) { return u > 0 && u <= most; }))
      return shares;
  }
  throw RunError("uunifast-discard discards nearly everything at this utilisation: randfixedsum does not");
}

const UtilisationRegistration registered_uunifast_discard{
    "uunifast-discard",
    "evenly over all ways to share the utilisation; sets with a share above `most` are discarded",
    uunifast_discard};

}  // namespace
}  // namespace gangway
