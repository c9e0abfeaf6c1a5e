// The timelines of a result folder, the first run of each point and policy, and their disk limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "experiments/results/result_parts.hpp"
#include "experiments/timelines/chrome_trace.hpp"

namespace gangway {

class TraceFiles {
 public:
  static constexpr std::uint64_t kUsualLimit = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kMuch = std::uint64_t{100} << 20;  // announced before writing
  using Say = std::function<void(const std::string&)>;

  // For these points of the experiment. `limit`: bytes on disk of all timelines together. `say` receives
  // lines for people about omissions. Experiment and folder must outlive this object.
  TraceFiles(const Experiment& experiment, const PointSet& points, ResultParts& parts, std::uint64_t limit,
             Say say);

  bool has(const Unit& unit) const { return parts_.intact(name(unit)); }
  bool complete() const;  // all exist

  // Announces the size of missing timelines if it is large. `events`: of all runs of the results.
  void announce(double events) const;
  // Plays missing timelines of a simulation; or only those written before and lost. False if `stop` was set
  // before the end.
  bool make_missing(const WorldEntry& world, const std::atomic<bool>& stop, bool only_lost = false);

  // For a real-time run, which cannot be replayed: null if there is no room left.
  std::unique_ptr<ChromeTrace> record(const Unit& unit);
  void finish(ChromeTrace& trace, const Unit& unit);

 private:
  std::string name(const Unit& unit) const;            // in the folder, of permutation 0
  std::filesystem::path file(const Unit& unit) const;  // the whole path
  std::uint64_t left() const;
  void tell(const TraceEnd& end, const Unit& unit);
  template <typename Visit>
  void each(Visit visit) const;

  const Experiment& experiment_;
  const PointSet points_;
  ResultParts& parts_;
  const std::uint64_t limit_;
  const Say say_;
  bool full_ = false;
};

// A size such as "1.5 GiB" for --trace-limit. InputError for anything else.
std::uint64_t read_trace_limit(const std::string& text);
// Estimated disk size of the timeline of a run with this many events.
double estimated_trace_size(double events);

}  // namespace gangway
