// A client that is a recorded program: its host threads, its jobs under way, and how it may submit. README.md
// is the definition.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/recorded.hpp"
#include "models/run/client_run.hpp"
#include "models/workload.hpp"
#include "sim/recorded/gpu_streams.hpp"

namespace gangway {

// One timeline of the recording, as it is played.
struct HostThread {
  enum class Doing {
    nothing,   // it has no job, and none is to come
    gap,       // on the host, until its event
    trapped,   // a submission traps, until its event
    gate,      // it waits for the gate
    room,      // or for room in a stream
    blocked,   // a call waits for the GPU
    leading,   // between two jobs, until its event
    release,   // the next job waits to be released
    trailing,  // behind the last call of a job, until its event
  };

  Doing doing = Doing::nothing;
  bool home = false;     // jobs begin here
  bool between = false;  // it plays what is between two jobs
  std::uint64_t event = 0;
  const recording::Segment* segment = nullptr;
  recording::Index step = 0, end = 0;
  JobId job;
  Time call_began;
  Time since;                              // it has waited: blocked, at the gate, for room or for a release
  std::vector<GpuStreams::Place> awaited;  // while blocked
  Duration own, wake;                      // of the call that is blocked
  std::uint32_t taken = 0;                 // jobs, in all
  std::vector<recording::Index> jobs;      // of the recording, that begin here; in order
  struct Help {
    const recording::Segment* segment = nullptr;
    JobId job;
    Time job_began;
  };
  std::deque<Help> helps;  // what it does next for others' jobs
};

// A job that has begun and is not over.
struct PlayedRun {
  JobId id;
  recording::Index played = 0;
  std::uint32_t parts = 0;  // timelines that are not through with it
  std::int64_t works = 0;   // that are not over
  Time released;
  bool by_host = true;  // it is over when its host is through with it; else with its last work, too
};

// The client's job on a GPU, as the trace has it.
struct Stay {
  LaunchId launch;
  JobId job;
  bool on = false;
};

struct RecordedClient {
  RecordedClient(ClientRun client_run, const Recorded& from) : run(std::move(client_run)), recorded(&from) {}

  ClientRun run;
  const Recorded* recorded;
  std::vector<HostThread> threads;  // by timeline
  std::deque<Time> due;             // releases of jobs that have not begun; not where it goes at its own pace
  std::deque<PlayedRun> open;       // in the order in which they began
  std::unordered_map<recording::Index, GpuStreams::Place> events;  // by the call that recorded them
  std::optional<Stay> stay;
  bool begun = false;                 // its host threads are under way
  bool opened = false, gone = false;  // as the policy knows
  bool own_pace = false;
  bool busy = false;  // kernels of it run
  bool uses = false;  // works of it are submitted and not over, as of the end of the last instant
  Time busy_since;    // of the stay
  Duration used;      // of the GPU, in all

  // Its gate, under policies that grant whole jobs.
  struct Granted {
    std::optional<JobId> asks;            // the job that the policy knows
    bool gate = false;                    // open
    bool was_open = false;                // under this grant
    bool closing = false;                 // at the end of this instant
    bool look = false;                    // likewise: whether the grant is over
    Time idle_since;                      // nothing of it has been on the GPU
    std::uint64_t opens = 0, closes = 0;  // events; 0: none
    bool idle_timer = false;              // likewise
    std::optional<std::uint64_t> leaves;  // likewise: the policy hears that the grant is over
    Why why = Why::completed;             // that is so
    Duration used_before;                 // the grant
  };
  Granted granted;
};

}  // namespace gangway
