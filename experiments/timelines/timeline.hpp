// Converts a run's records to timeline events.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/timelines/block_tracks.hpp"
#include "experiments/timelines/lanes.hpp"
#include "experiments/timelines/state_tracks.hpp"
#include "experiments/timelines/trace_events.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"

namespace gangway {

// Bytes needed for names, the current record and open phases when the file is full.
std::size_t reserve_of(const Workload& workload, std::int64_t gpus);

// A client's track shows one phase at a time; a GPU's tracks follow its owner.
class Timeline : public TraceSink {
 public:
  Timeline(const Workload& workload, std::int64_t gpus, TraceFile& file);

  void record(const Record& r) override;

  void blocks(const BlockSpan& span) override;

  void uncertain(Duration clock) override { uncertain_ = clock; }
  std::optional<Duration> uncertainty() const { return uncertain_; }

  // Where the file became full and the rest was omitted.
  std::optional<Time> full_at() const { return events_.full() ? std::optional(now_) : std::nullopt; }
  std::int64_t spans_left_out() const { return blocks_.left_out(); }

 private:
  void draw(const Record& r);

  // Writes the current record and open phases from the reserve, even if the file is full.
  void close();

  // Queue lengths are shown as of the end of each instant.
  void count(const Record& r, std::int64_t queued, std::int64_t in_streams);
  void show_counts();
  void counter(const char* name, std::int64_t kernels);

  struct Phase {
    std::string name;
    Time since;
    Record of{};
  };

  static int client_thread(std::size_t client) { return static_cast<int>(client) + 1; }
  static bool to_device(const Record& r) { return r.direction == CopyDirection::to_device; }
  static std::size_t engine(const Record& r) { return to_device(r) ? 0 : 1; }
  bool is_native(const Record& r) const { return native_.contains(r.launch); }
  Phase& phase(const Record& r) { return phases_[r.job.client.index]; }

  std::string kernel_of(const Record& r) const;  // empty if whole jobs are granted
  TraceEvents::Json args(const Record& r) const;

  void decided(const Record& r);

  void span(int pid, int tid, const std::string& name, Time from, const Record& r);

  void instant(const Record& r, const char* name);

  void leave(const Record& r);
  void enter(const Record& r, const char* name);

  // Access of self-submitting clients, which begin with direct access.
  void begin_access();
  void access(const Record& r);
  void show_access(const Phase& phase, Time until);

  struct Copying {
    Record begun;
    std::size_t lane = 0;
  };
  using CopyPlace = std::tuple<std::uint8_t, std::size_t, JobId>;  // GPU, engine, job
  void copied(const Record& r);
  void show_copy(const Copying& copying, Time until);

  void held(const Record& r);

  void gone(const Record& r);
  void reported(const Record& r);
  void owned(const Record& start, Time until);

  // Phases still open when a horizon ends the run are drawn up to it.
  void ended(Time now);

  struct GpuTracks {
    Time launched;                        // when the latest launch was ordered
    LaunchId ordered;                     // that launch
    bool begun = false, running = false;  // it has had blocks there; it has
    std::optional<Record> owner;          // record of the start of the launch that started last
    std::optional<Time> command;          // since when its eviction was ordered, or its last block was gone
    std::optional<LaunchId> evicted;      // the launch that has to leave, until it is gone
  };

  TraceEvents events_;
  bool closed_ = false;
  Time now_;  // of the last record
  const Workload* workload_;
  std::vector<Phase> phases_;
  std::vector<int> running_;  // by client: number of its launches on GPUs
  StateTracks states_;
  BlockTracks blocks_;
  std::vector<GpuTracks> gpus_;
  // Current copies, a job's earliest first: an engine may copy several things at once.
  std::multimap<CopyPlace, Copying> copying_;
  std::map<std::pair<std::uint8_t, std::size_t>, Lanes> copy_lanes_;  // by GPU and engine
  std::set<std::pair<int, int>> named_copies_;                        // process and thread
  bool scheduler_ = false;                                            // whether its track exists
  std::set<LaunchId> native_;
  std::set<LaunchId> requests_;  // of self-submitting clients, not begun
  std::vector<Phase> accesses_;  // by client
  std::int64_t queued_ = 0,
               in_streams_ = 0;  // kernels in primary queues; kernels of native clients in streams
  Time counted_at_;              // of the last change
  bool counted_ = false, counts_changed_ = false;
  bool queues_known_ = false;          // real devices do not report queues
  std::optional<Duration> uncertain_;  // error of device clock times
};

}  // namespace gangway
