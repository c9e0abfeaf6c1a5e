// The memory of recorded programs: whose state is on the GPU, and its moves, by a policy's orders or as
// launches need it. Exact definition: README.md. The world keeps the events.
#pragma once

#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/policy.hpp"
#include "models/workload.hpp"
#include "sim/copy_engines.hpp"

namespace gangway {

// What states require of their world.
class KeptStatesHost {
 public:
  virtual bool works_on_device(ClientId client) const = 0;
  virtual bool owns_gpu(ClientId client) const = 0;  // or is about to
  virtual bool asks_for_gpu(ClientId client) const = 0;
  virtual std::uint64_t copied_state_at(std::uint32_t copy, Time time) = 0;  // the event's number
  virtual void moving(ClientId client, CopyDirection direction, Bytes size, bool begins) = 0;
  virtual void holds_memory(ClientId client, Bytes size) = 0;
  virtual void state_moved(ClientId client, MemoryMove move) = 0;

 protected:
  ~KeptStatesHost() = default;
};

class KeptStates final : public MemoryView {
 public:
  // The references must outlive it. One GPU.
  KeptStates(const Workload& workload, const Device& device, KeptStatesHost& host);
  // A run begins: states are on the GPU in client order, as long as they fit. `ordered`: the policy orders
  // moves; else a launch brings the client's state.
  void reset(bool ordered);

  // Orders of the policy. Refusals: empty if allowed, else the reason.
  std::string restore_refusal(ClientId client) const;
  std::string save_refusal(ClientId client) const;
  void restore(ClientId client);
  void save(ClientId client);

  bool resident(ClientId client) const { return states_[client.index].where == Residence::resident; }
  bool ordered() const { return ordered_; }
  void bring(ClientId client);  // for its grant, as soon as there is room
  void lost_gpu(ClientId client, Time now);
  // Frees the room of a client whose program exits. False: not possible yet, because the state moves or its
  // works are on the device.
  bool let_go(ClientId client);
  void used(ClientId client) { states_[client.index].changed = true; }
  // A copy's event. Outdated ones have no effect.
  void copied(std::uint32_t copy, std::uint64_t event, Time now);
  // The end of an instant's decisions. Returns whether something happened.
  bool settle(Time now);

  Residence residence(ClientId client, DeviceId gpu) const override;
  Bytes room(DeviceId gpu) const override;
  Bytes held(ClientId client, DeviceId gpu) const override;
  bool holds(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes takes(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes copies(JobId job, DeviceId gpu, BlockRange blocks) const override;
  bool changed_elsewhere(JobId, DeviceId, BlockRange) const override { return false; }
  bool changed_on(JobId job, DeviceId gpu, BlockRange blocks) const override;
  Bytes merged(ClientId) const override { return {}; }
  Duration copy_time(Bytes size) const override;

 private:
  struct State {
    ClientId id;
    Bytes size;
    Residence where = Residence::absent;
    bool changed = false;  // something was submitted since it came
    bool copying = false;  // the move's copy is under way
    bool over = false;     // the restore's copy is, but there is no room yet
    bool wanted = false;   // by a grant
    Time closed;           // when it last lost the GPU
  };

  State& of(ClientId client) { return states_[client.index]; }
  const State& asked(ClientId client) const;
  void begin_restore(State& state);
  void begin_copy(State& state, CopyDirection direction, Bytes size, Time now);
  void ended(State& state);
  void arrived(State& state);
  void let_arrive();
  bool make_room();
  State* victim();
  bool bring_ahead();
  Bytes leaving() const;

  const Device& device_;
  KeptStatesHost& host_;
  CopyEngines engines_;
  std::vector<State> states_;  // by client
  Bytes free_;                 // below zero while states leave for one that comes
  bool ordered_ = false;
};

}  // namespace gangway
