// A run's records as the events of a timeline.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/timelines/block_tracks.hpp"
#include "experiments/timelines/state_tracks.hpp"
#include "experiments/timelines/trace_events.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"

namespace gangway {

// Bytes that names, the record at hand and what is still open may take when the file is full.
std::size_t reserve_of(const Workload& workload, std::int64_t gpus);

// Turns records into trace events. A client's track shows one phase at a time; a GPU's tracks follow its one
// owner.
class Timeline : public TraceSink {
 public:
  Timeline(const Workload& workload, std::int64_t gpus, TraceFile& file);

  void record(const Record& r) override;

  void blocks(const BlockSpan& span) override;

  void uncertain(Duration clock) override { uncertain_ = clock; }
  std::optional<Duration> uncertainty() const { return uncertain_; }

  // Where the file was full, and everything else was left out.
  std::optional<Time> full_at() const { return events_.full() ? std::optional(now_) : std::nullopt; }
  std::int64_t spans_left_out() const { return blocks_.left_out(); }

 private:
  void draw(const Record& r);

  // What does not fit any more is still written, out of the reserve: the record at hand, and what is open
  // then.
  void close();

  // Lengths of queues are shown as they are when all of an instant has happened.
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

  std::string kernel_of(const Record& r) const;  // empty where jobs are granted as a whole
  TraceEvents::Json args(const Record& r) const;

  void decided(const Record& r);

  void span(int pid, int tid, const std::string& name, Time from, const Record& r);

  void instant(const Record& r, const char* name);

  void leave(const Record& r);
  void enter(const Record& r, const char* name);

  // How clients may submit that do so by themselves; all begin with direct access.
  void begin_access();
  void access(const Record& r);
  void show_access(const Phase& phase, Time until);

  void copied(const Record& r);

  void held(const Record& r);

  void gone(const Record& r);

  // What is still going on when a horizon ends the run is drawn up to there.
  void ended(Time now);

  struct GpuTracks {
    Time launched;                // when the launch was ordered
    std::optional<Record> owner;  // how the launch that runs started
    Time command;                 // when the eviction or reading under way was ordered
    bool evicting = false;
  };

  TraceEvents events_;
  bool closed_ = false;
  Time now_;  // of the last record
  const Workload* workload_;
  std::vector<Phase> phases_;
  std::vector<int> running_;  // by client: its launches on GPUs
  StateTracks states_;
  BlockTracks blocks_;
  std::vector<GpuTracks> gpus_;
  // What began the copies under way, by GPU and engine; of one job the first that began first, as an engine
  // may copy several things at once.
  std::multimap<std::tuple<std::uint8_t, std::size_t, JobId>, Record> copying_;
  bool scheduler_ = false;  // its track is there
  std::set<LaunchId> native_;
  std::set<LaunchId> requests_;               // of clients that submit by themselves, that have not begun
  std::vector<Phase> accesses_;               // by client
  std::int64_t queued_ = 0, in_streams_ = 0;  // kernels: in primary queues; of native clients, in streams
  Time counted_at_;                           // when one of them changed last
  bool counted_ = false, counts_changed_ = false;
  bool queues_known_ = false;          // a real device does not tell of them
  std::optional<Duration> uncertain_;  // of times that the device's clock told
};

}  // namespace gangway
