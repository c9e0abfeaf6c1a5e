// Moves of clients' state between host and GPUs ordered by a policy (Share-a-GPU, II-E and IV-A), and what
// programs wait for: moves, merging what several GPUs wrote, and outputs. Exact definition:
// sim/memory/README.md. The world keeps the events.
#pragma once

#include <string>
#include <vector>

#include "models/mechanism.hpp"
#include "models/trace.hpp"
#include "sim/copy_queue.hpp"
#include "sim/memory/device_memory.hpp"

namespace gangway {

// What moves require of their world.
class MoveHost {
 public:
  virtual void note_record(const Record& record) = 0;
  virtual void tell_fact(const Fact& fact) = 0;
  [[noreturn]] virtual void stop_run(const std::string& what) const = 0;
  [[noreturn]] virtual void refuse_order(const std::string& what) const = 0;
  // After `wait`, call begin(index), or over(index) of a move, or merged(client).
  virtual void begin_move_after(Duration wait, std::uint32_t index) = 0;
  virtual void end_move_after(Duration wait, std::uint32_t index) = 0;
  virtual void end_merge_after(Duration wait, ClientId client) = 0;
  virtual void ask_for_copy(DeviceId gpu, CopyDirection direction, const CopyQueue::Copy& copy) = 0;
  // Memory no longer delays the client's program.
  virtual void memory_settled(ClientId client) = 0;

 protected:
  ~MoveHost() = default;
};

class MemoryMoves {
 public:
  // References must outlive this object.
  MemoryMoves(const WorldSetup& setup, JobBook& book, MoveHost& host);
  void reset();  // a run begins

  // --- Orders of the policy, for jobs that own no GPU there. Invalid ones are refused.
  void restore(JobId job, DeviceId gpu, BlockRange blocks, Time now);
  void save(JobId job, DeviceId gpu, Time now);

  // --- Moves: the copy begins, has ended, and the policy knows
  void begin(std::uint32_t index, Time now);
  void copied(JobId job, DeviceId gpu, CopyDirection direction, Bytes size, Time now);
  void over(std::uint32_t index, Time now);

  // --- Launches
  // Whether these block-tasks can be launched there now.
  bool holds(JobId job, DeviceId gpu, BlockRange blocks) const { return memory_.holds(job, gpu, blocks); }
  void launched(JobId job, DeviceId gpu, BlockRange blocks, Time now);
  // A launch completed block-tasks, so earlier moves were useful.
  void progressed() { in_vain_ = 0; }

  // --- Programs
  // A kernel of the job ended. Whether its program waits for memory; if so, settle() starts that.
  bool must_settle(JobId job);
  void settle(JobId job);
  void merge_copied(JobId job);
  void merged(JobId job, Time now);
  // Its last kernel ended. Returns whether there are outputs to wait for; output_copied() tells which is the
  // last.
  bool copy_outputs(JobId job);
  bool output_copied(ClientId client) { return --states_[client.index].copies == 0; }
  // The job is finished; `late`: after its Left was told.
  void free(JobId job, bool late, Time now);

 private:
  struct Move {
    JobId job;
    Bytes size;
  };
  struct State {            // of a client's job
    int moves = 0;          // under way
    bool leaving = false;   // its last kernel has ended
    bool settling = false;  // a kernel has ended, but moves or a merge delay the program
    bool merging = false;
    int copies = 0;  // for the merge, or of outputs
  };

  void order(JobId job, DeviceId gpu, MemoryMove move, Bytes size, Duration wait, Time now);
  void merge(ClientId client);
  void note_held(JobId job, DeviceId gpu, Time now);
  // Index of a move, by client, GPU and kind.
  std::uint32_t index_of(JobId job, DeviceId gpu, MemoryMove move) const {
    return (job.client.index * gpus_ + gpu.index) << 1 | static_cast<std::uint32_t>(move);
  }
  DeviceId gpu_of(std::uint32_t index) const { return {(index >> 1) % gpus_}; }
  static MemoryMove move_of(std::uint32_t index) { return static_cast<MemoryMove>(index & 1); }

  const WorldSetup& setup_;
  const JobBook& book_;
  MoveHost& host_;
  std::uint32_t gpus_;
  DeviceMemory memory_;
  MoveDelays delays_;
  std::vector<Move> moving_;   // by index_of() without the kind
  std::vector<State> states_;  // by client
  std::uint32_t in_vain_ = 0;  // saves and restores since the last finished block-task
};

}  // namespace gangway
