#include "hw/calibration/drift.hpp"

#include <algorithm>
#include <cmath>

#include "models/fit/location.hpp"

namespace gangway {
namespace {

constexpr double kSteady = 0.02;
constexpr double kQuickest = 0.1;
constexpr std::size_t kNeighbours = 4;  // on each side
constexpr std::size_t kFewestJobs = 20, kFewestWhole = 6;
// Something slow is the reason only if a job's neighbours tell its time clearly better than all jobs do. Some
// kernels take one or the other of two times, at random.
constexpr double kTold = 0.5;

double quickest(const std::vector<JobTime>& jobs, bool evicted) {
  std::vector<double> times;
  for (const JobTime& job : jobs)
    if (job.evicted == evicted) times.push_back(job.ns);
  return times.empty() ? 0 : nearest_rank(std::move(times), kQuickest);
}

// The median of the values around each, `with` itself or without.
std::vector<double> around(const std::vector<double>& values, std::size_t neighbours, bool with) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> near;
    for (std::size_t j = i < neighbours ? 0 : i - neighbours; j < std::min(values.size(), i + neighbours + 1);
         ++j)
      if (with || j != i) near.push_back(values[j]);
    medians.push_back(median(std::move(near)));
  }
  return medians;
}

// By how much they rise above the usual.
double rise(const std::vector<double>& smooth) {
  return *std::max_element(smooth.begin(), smooth.end()) - nearest_rank(smooth, kQuickest);
}

bool neighbours_tell(const std::vector<double>& values) {
  const std::vector<double> told = around(values, kNeighbours, false);
  const double middle = median(values);
  double left = 0, all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    left += std::abs(values[i] - told[i]);
    all += std::abs(values[i] - middle);
  }
  return left < kTold * all;
}

}  // namespace

std::vector<double> slowdowns(const std::vector<JobTime>& jobs, double time) {
  std::vector<double> factors(jobs.size(), 1.0);
  if (jobs.size() < kFewestJobs) return factors;
  const double of_whole = quickest(jobs, false), of_evicted = quickest(jobs, true);
  std::vector<double> excess, of_whole_jobs;
  for (const JobTime& job : jobs) {
    excess.push_back((job.ns - (job.evicted ? of_evicted : of_whole)) / time);
    if (!job.evicted) of_whole_jobs.push_back(excess.back());
  }
  // Those of evicted jobs contain evictions, which a slow scheduler makes longer.
  if (of_whole_jobs.size() < kFewestWhole || rise(around(of_whole_jobs, 1, true)) <= kSteady) return factors;
  const std::vector<double> smooth = around(excess, kNeighbours, true);
  if (rise(smooth) <= kSteady || !neighbours_tell(excess)) return factors;
  const double usual = nearest_rank(smooth, kQuickest);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 1 + std::max(0.0, smooth[i] - usual);
  return factors;
}

}  // namespace gangway
