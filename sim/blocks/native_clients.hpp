// Clients that submit operations to the device's own queues. Exact definition: sim/blocks/README.md.
#pragma once

#include <deque>
#include <vector>

#include "models/copy_direction.hpp"
#include "models/world.hpp"
#include "sim/blocks/stream_queues.hpp"
#include "sim/copy_queue.hpp"

namespace gangway {

// What native clients require of their world.
class NativeHost {
 public:
  virtual LaunchId next_launch() = 0;
  virtual void ask_for_copy(CopyDirection direction, const CopyQueue::Copy& copy) = 0;
  virtual void native_job_over(JobId job) = 0;

 protected:
  ~NativeHost() = default;
};

class NativeClients {
 public:
  // `all`: every client is native, also those that do not say so. `alarm`: when to advance(). References must
  // outlive this object.
  NativeClients(const WorldSetup& setup, bool all, BlockScheduler& blocks, Alarm alarm, Journal& journal,
                NativeHost& host);
  void reset(const RunSeed& seed);

  void release(JobId job, Time now);
  void copy_begun(const CopyQueue::Copy& copy, CopyDirection direction, Time now);
  void copied(const CopyQueue::Copy& copy, CopyDirection direction, Time now);
  void assigned(GridSlot slot);
  void done(GridSlot slot, Time now);  // also forgets the grid

  // Lets operations join queues.
  void advance(Time now);
  bool changed() const { return streams_.changed(); }

 private:
  struct Job {
    JobId id;
    Time released;
    std::uint32_t issued = 0;  // operations of the program
    std::uint32_t left = 0;    // not over yet
  };
  struct ClientState {
    const Client* client = nullptr;
    std::uint32_t stream = 0, context = 0;
    std::vector<Operation> program;
    std::vector<Duration> lengths;  // of blocks, by kernel
    std::deque<Job> jobs;           // released, unfinished
  };

  static std::vector<Operation> program_of(const Client& client);
  StreamQueues make_streams(const WorldSetup& setup, bool all, Alarm alarm);
  void issue(ClientState& state, Job& job, Time now);
  LaunchedGrid grid_of(const ClientState& state, const Operation& operation) const;
  Operation& operation_of(const CopyQueue::Copy& copy, CopyDirection direction);
  void over(JobId job, std::uint32_t place, bool leaves, Time now);
  void note(const Operation& operation, Mark mark, Time now, std::int64_t amount = 0);
  ClientState& state_of(JobId job) { return clients_[job.client.index]; }
  std::uint32_t place_of_kernel(const LaunchedGrid& grid) const;

  const WorldSetup& setup_;
  BlockScheduler& blocks_;
  Journal& journal_;
  NativeHost& host_;
  RuleSet rules_;
  std::vector<std::uint32_t> contexts_;  // by client
  std::vector<ClientState> clients_;
  StreamQueues streams_;
  RunSeed seed_;
};

}  // namespace gangway
