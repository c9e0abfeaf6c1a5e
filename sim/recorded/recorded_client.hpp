// A client that is a recorded program: host threads, current jobs, and how it may submit. Definition:
// README.md.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/policy.hpp"
#include "models/recorded.hpp"
#include "models/run/client_run.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"
#include "sim/recorded/gpu_streams.hpp"

namespace gangway {

// A timeline of the recording during replay.
struct HostThread {
  enum class Doing {
    nothing,   // no job, and none will come
    gap,       // on the host, until its event
    trapped,   // a submission traps, until its event
    gate,      // waits for the gate
    room,      // waits for room in a stream
    blocked,   // a call waits for the GPU
    leading,   // between two jobs, until its event
    release,   // waits for the next job's release
    trailing,  // after a job's last call, until its event
  };

  Doing doing = Doing::nothing;
  bool home = false;     // jobs begin here
  bool between = false;  // plays what lies between two jobs
  std::uint64_t event = 0;
  const recording::Segment* segment = nullptr;
  recording::Index step = 0, end = 0;
  JobId job;
  Time came;  // when the current call came to the gate
  Time call_began;
  Time since;  // since when it waits: blocked, at the gate, for room or for a release
  std::vector<GpuStreams::Place> awaited;  // while blocked
  Duration own, wake;                      // of the blocked call
  Duration slow;                           // so much host time is slow yet
  std::uint32_t taken = 0;                 // number of jobs
  std::vector<recording::Index> jobs;      // jobs of the recording that begin here, in order
  struct Help {
    const recording::Segment* segment = nullptr;
    JobId job;
    Time job_began;
  };
  std::deque<Help> helps;  // its next work for others' jobs
};

// A job that has begun and is not over.
struct PlayedRun {
  JobId id;
  recording::Index played = 0;
  std::uint32_t parts = 0;  // timelines not finished with it
  std::int64_t works = 0;   // unfinished
  Time released;
  bool by_host = true;  // over when its host has finished it; else also its last work
};

// The client's job on a GPU, as in the trace.
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
  std::deque<Time> due;             // releases of jobs not begun; empty if it runs at its own pace
  std::deque<PlayedRun> open;       // in order of beginning
  std::unordered_map<recording::Index, GpuStreams::Place> events;  // by the call that recorded them
  std::optional<Stay> stay;
  bool begun = false;                 // its host threads have started
  bool opened = false, gone = false;  // as known to the policy
  bool leaves = false;                // it exits when its memory can go
  bool own_pace = false;
  bool busy = false;            // its kernels run
  bool uses = false;            // it had unfinished works at the end of the last instant
  int copies = 0;               // under way, of jobs that have begun
  std::optional<Mark> off_gpu;  // what the trace has of it since it last ran or copied

  // Its gate, under whole-job grants.
  struct Granted {
    std::optional<JobId> asks;            // the job known to the policy
    JobId serves;                         // the one for which it stands: it, or a later one in its turn
    bool gate = false;                    // open
    bool closing = false;                 // at the end of this instant
    bool look = false;                    // likewise: check whether the grant is over
    bool awaits_state = false;            // it opens when the client's memory is on the GPU
    std::optional<JobId> moves = {};      // its memory is being copied, in the trace of this job
    Time idle_since;                      // since when nothing of it is on the GPU
    std::uint64_t opens = 0, closes = 0;  // events; 0: none
    bool idle_timer = false;              // likewise
    std::optional<std::uint64_t> leaves;  // likewise: the policy hears of the grant's end
    Why why = Why::completed;             // reason of that
    Time opened;                          // under this grant

    // Under policies that launch slices.
    std::vector<KernelFacts> kernels = {};   // as the policy sees them
    std::vector<std::uint32_t> places = {};  // by launch: its kernel among these; 0: none
    std::uint32_t current = 0;               // of these, as told
    bool told = false;                       // the policy knows the job that asks
    bool over = false;                       // that job is over, and the policy believes it waits
    std::optional<BlockCount> until = {};    // block to stop before; none: the rest is granted
    bool awaits_gpu = false;                 // it opens when the other gate is drained
    bool drains = false;                     // the grant ends when its gate is closed and drained
    bool left_due = false;
    BlockCount done;  // what the grant's end reports

    void ask_for(JobId job) { asks = serves = job; }
    // The grant is, though the policy does not know it yet.
    bool is_over() const { return leaves || left_due; }
  };
  Granted granted;
};

}  // namespace gangway
