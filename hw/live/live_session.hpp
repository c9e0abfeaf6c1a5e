// Programs under a daemon in this process, which plays runs with them. They start once and wait at their
// gates between runs.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/daemon.hpp"
#include "hw/live/live_programs.hpp"
#include "hw/live/live_releases.hpp"
#include "hw/live/live_trace.hpp"
#include "hw/mps_daemon.hpp"
#include "hw/scratch_folder.hpp"
#include "models/world.hpp"

namespace gangway::live {

inline constexpr const char* kWhatEndsAJob =
    "a job ends with a call that waits for the GPU and leaves nothing outstanding";

class LiveSession : public Watcher {
 public:
  // `memory`: whether programs' memory moves, so that programs can be played that do not fit together.
  // `gpus`: the daemon's. With `fixed` a client's number determines its GPU; otherwise it is the one with the
  // least load when its program starts (gpus/placement.hpp).
  LiveSession(const MemorySettings& memory, const std::vector<GpuFacts>& gpus, Placing placing);
  ~LiveSession();

  // Starts the clients' programs that are not running, waits until they are warm, and measures how long their
  // jobs take alone, once per command and pace. False: `stop` was set. RunError if a program ends first, or
  // no job of one ends.
  bool prepare(const WorldSetup& setup, Workload& workload, const std::atomic<bool>& stop);

  // Plays a run of prepared programs. Empty if the sink was stopped. RunError if a program fails.
  struct Play {
    const WorldSetup& setup;
    const RunSeed& seed;
    std::span<const std::uint32_t> order;
    Policy& policy;
    const TraceSink& sink;
  };
  struct Played {
    std::vector<Record> records;       // its trace
    std::vector<std::string> remarks;  // one line for each client whose program ended too early
  };
  Played play(const Play& play);

  // Bytes of the device that clients may hold where memory moves: as in simulation.
  static std::uint64_t most_memory(const WorldSetup& setup) {
    return static_cast<std::uint64_t>(setup.device.memory.count);
  }
  bool is_for(const WorldSetup& setup) const {
    return moves_memory_ == setup.moves_memory && (!moves_memory_ || most_memory_ == most_memory(setup)) &&
           gpus_.size() == static_cast<std::size_t>(setup.device.gpus) &&
           (gpus_.size() == 1 || placing_ == setup.placing);
  }

 private:
  // A client's program. Its jobs are those of its first process that uses the GPU.
  struct Member {
    LiveClient* client = nullptr;
    bool warming = false;
    std::optional<AloneTimes> alone;  // from `measured`
    std::optional<unsigned> gpu;      // that its program was started on; none: chosen by the daemon
    Command measured;
    Repeat measured_at;
    // During a run:
    std::uint64_t base = 0, taken = 0;  // jobs on the page: at the run's start, and known to be over
    std::uint64_t departed = 0;         // departures on the page that are in the history
    LiveHistory history;
    bool out = false;  // has ended
    bool killed = false;
    bool refused = false;            // has got no channels
    std::optional<Time> ended = {};  // when the client was gone
    bool ended_inside = false;       // during a job
    bool reported = false;           // how its program ended
  };
  class Run;

  void came(LiveClient& client) override;
  void left(const LiveClient& client) override;
  void step(Time now, Step step, ClientId client) override;

  void share(const WorldSetup& setup, const std::atomic<bool>& stop);
  void hold_all();
  void open_to_all();
  std::shared_ptr<Policy> between_runs() const;
  void warm_up(const Workload& workload, const std::atomic<bool>& stop);
  AloneTimes measure(const WorldSetup& setup, std::uint32_t client, const std::atomic<bool>& stop);
  void release(const WorldSetup& setup, std::uint32_t client, const std::atomic<bool>& stop,
               const std::function<bool(const LiveReleases&)>& enough);
  void bring_memory(const WorldSetup& setup, std::uint32_t client, const std::atomic<bool>& stop);
  std::optional<unsigned> gpu_for(const Client& client, std::uint32_t number) const;
  void settle(const Workload& workload, Duration limit);
  [[noreturn]] void fail(const std::string& name, const LivePrograms::End& end, const std::string& when);
  void turn();

  const ScratchFolder folder_;
  const bool moves_memory_;
  const std::uint64_t most_memory_;
  const std::vector<GpuFacts> gpus_;
  const Placing placing_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<MpsDaemon> mps_;  // must outlive its clients
  bool takes_forms_ = false;        // whether its programs can take forms
  std::unique_ptr<LivePrograms> programs_;
  std::map<std::string, Member> members_;  // by client name
  Run* run_ = nullptr;
  std::string further_;  // a program of which a second process appeared
};

}  // namespace gangway::live
