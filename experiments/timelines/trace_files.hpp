// The timelines of a result folder: the first run of each point and policy, and what they may take on disk.
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
  static constexpr std::uint64_t kMuch = std::uint64_t{100} << 20;  // worth a word before it is written
  using Say = std::function<void(const std::string&)>;

  // Of these points of the experiment. `limit`: bytes on disk, of all timelines of the folder together. `say`
  // is given lines for people: what is left out, and why. The experiment and the folder must outlive this
  // object.
  TraceFiles(const Experiment& experiment, const PointSet& points, ResultParts& parts, std::uint64_t limit,
             Say say);

  bool has(const Unit& unit) const { return parts_.intact(name(unit)); }
  bool complete() const;  // all are there

  // Before those that are missing are made: how much that is going to be, if it is much. `events`: of
  // all runs of the results.
  void announce(double events) const;
  // Plays what is missing, of a simulation; or only what was written once and is lost. Returns false when
  // `stop` got set before the end.
  bool make_missing(const WorldEntry& world, const std::atomic<bool>& stop, bool only_lost = false);

  // For a run in real time, which cannot be played again: null where there is no room any more.
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

// "1.5 GiB" as --trace-limit; InputError for anything else.
std::uint64_t read_trace_limit(const std::string& text);
// About what a timeline takes on disk, of a run of so many events.
double estimated_trace_size(double events);

}  // namespace gangway
