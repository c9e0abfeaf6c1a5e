// A device shared with native clients: its blocks, those clients, and at most one launch of a policy, whose
// persistent blocks queue like any others. Exact definition: sim/blocks/README.md.
#pragma once

#include <optional>
#include <vector>

#include "sim/blocks/native_clients.hpp"
#include "sim/gpu.hpp"

namespace gangway {

// What such a device requires of its world.
class DeviceHost : public NativeHost {
 public:
  // Begins requested copies; returns whether there are any.
  virtual void serve_copies() = 0;
  virtual bool has_copies() const = 0;
  // For the policy's launch: its first block runs; the number of running blocks changed; its last block
  // ended.
  virtual void launch_started() = 0;
  virtual void launch_placed(std::int64_t running) = 0;
  virtual void launch_gone() = 0;

 protected:
  ~DeviceHost() = default;
};

// Ids of the world's events: block ends, with the index above `shift` bits, and "look again".
struct DeviceEvents {
  EventQueue& queue;
  std::uint32_t blocks, look;
  unsigned shift;
};

class SharedDevice {
 public:
  // `all`: every client is native, also those that do not say so. References must outlive this object.
  SharedDevice(const WorldSetup& setup, bool all, const DeviceEvents& events, Journal& journal,
               DeviceHost& host);
  void reset(const RunSeed& seed);
  bool is_native(ClientId client) const { return all_ || setup_.workload.clients[client.index].native; }

  // Events of native clients in an instant, in any order; settle() acts on them.
  void released(JobId job) { releases_.push_back(job); }
  void copied(const CopyQueue::Copy& copy, CopyDirection direction, const CopyQueue::Beginning& began) {
    ended_copies_.push_back({copy, direction, began});
  }
  // Has effect at once.
  void copy_begun(const CopyQueue::Copy& copy, CopyDirection direction, Time now) {
    clients_.copy_begun(copy, direction, now);
  }
  void blocks_ended(std::uint32_t cohort, Time now) { blocks_.ended(cohort, now); }
  bool prolong(std::uint32_t cohort, Time now, Time next) { return blocks_.prolong(cohort, now, next); }
  // All that follows in this instant. Rules decide in this order: what ended leaves its queues, heads of
  // streams join queues, blocks are assigned.
  void settle(Time now);
  // The run is over.
  void flush() { blocks_.flush(); }

  // A policy's launch was ordered. Returns how many blocks it will have.
  std::int64_t launch(const Gpu::ResidentLaunch& resident);
  // Its command has reached the device: its blocks join the queue. Once for each launch.
  bool joined() const { return launch_.grid.has_value(); }
  void join(const Launch& launch, Time now);
  // Its persistent blocks end now. It must have joined.
  void close(Time now) {
    launch_.closed = true;
    blocks_.close(*launch_.grid, now);
  }
  // Its blocks will see the flag with this event.
  void evict(std::uint64_t event) { launch_.flag_event = event; }
  bool awaits_flag(std::uint64_t event) const { return launch_.flag_event == event; }
  // They see it. Returns whether any run.
  bool flag_seen();

 private:
  struct EndedCopy {
    CopyQueue::Copy copy;
    CopyDirection direction = CopyDirection::to_device;
    CopyQueue::Beginning began;
  };
  struct OrderedLaunch {
    std::optional<GridSlot> grid;
    std::int64_t wave = 0;  // its blocks that end together; 0: they are persistent
    std::uint64_t flag_event = 0;
    bool flagged = false;
    bool closed = false;  // its work is done: blocks that have no place yet leave when they get one
    std::int64_t running = 0;
  };

  void tell_clients(Time now);
  void got_blocks();
  std::int64_t persistent_blocks(const Launch& launch) const;

  const WorldSetup& setup_;
  bool all_;
  DeviceHost& host_;
  std::vector<std::uint32_t> contexts_;  // by client
  BlockScheduler blocks_;
  NativeClients clients_;
  OrderedLaunch launch_;
  std::vector<EndedCopy> ended_copies_;
  std::vector<JobId> releases_;
  std::vector<GridSlot> finished_;
};

}  // namespace gangway
