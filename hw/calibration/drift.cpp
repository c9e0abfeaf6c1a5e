#include "hw/calibration/drift.hpp"

#include <algorithm>

#include "models/fit/location.hpp"

namespace gangway {
namespace {

constexpr double kSteady = 0.02;
constexpr double kQuickest = 0.1;
constexpr std::size_t kNeighbours = 4;  // on each side
constexpr std::size_t kFewestJobs = 20;

double quickest(const std::vector<JobTime>& jobs, bool evicted) {
  std::vector<double> times;
  for (const JobTime& job : jobs)
    if (job.evicted == evicted) times.push_back(job.ns);
  return times.empty() ? 0 : nearest_rank(std::move(times), kQuickest);
}

}  // namespace

std::vector<double> slowdowns(const std::vector<JobTime>& jobs, double time) {
  std::vector<double> factors(jobs.size(), 1.0);
  if (jobs.size() < kFewestJobs) return factors;
  const double of_whole = quickest(jobs, false), of_evicted = quickest(jobs, true);
  std::vector<double> excess;
  for (const JobTime& job : jobs) excess.push_back((job.ns - (job.evicted ? of_evicted : of_whole)) / time);
  std::vector<double> smooth;
  for (std::size_t i = 0; i < excess.size(); ++i) {
    const std::size_t first = i < kNeighbours ? 0 : i - kNeighbours;
    const std::size_t last = std::min(excess.size(), i + kNeighbours + 1);
    smooth.push_back(median({excess.begin() + static_cast<std::ptrdiff_t>(first),
                             excess.begin() + static_cast<std::ptrdiff_t>(last)}));
  }
  const double usual = nearest_rank(smooth, kQuickest);
  if (*std::max_element(smooth.begin(), smooth.end()) - usual <= kSteady) return factors;
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 1 + std::max(0.0, smooth[i] - usual);
  return factors;
}

}  // namespace gangway
