// The daemon's side of clients' memory: who may hold how much of the device, and whose state leaves so that
// another's can come. Pure but for the clients it is given: time comes in with each call.
//
// What clients may hold never exceeds the capacity: room is given to one only when others have let go of it.
// A client's gate opens when all of its state is on the device, however the policy has opened it before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/conductor.hpp"
#include "hw/live/memory/memory_page.hpp"

namespace gangway::live {

// A client as the keeper reaches it. No call waits for the client.
class KeptClient {
 public:
  struct Memory {  // bytes, as MemoryStanding has them
    std::uint64_t claimed = 0, movable = 0, away = 0, fixed = 0, asked = 0, want = 0, done = 0, turned = 0,
                  host = 0, total = 0, free = 0, held = 0, looks = 0;
    bool no_host = false;
    std::uint32_t error = 0;  // the driver's, of the latest move that failed
    std::uint64_t footprint() const { return movable + fixed; }
  };
  virtual ~KeptClient() = default;
  virtual void let_in(std::uint32_t allowed) = 0;  // as Port::permit()
  virtual Standing look() = 0;
  virtual Memory memory() const = 0;
  virtual void order(Goal goal, std::uint32_t number) = 0;
  virtual void budget(std::uint64_t bytes) = 0;  // sequentially consistent
  virtual void available(std::uint64_t bytes) = 0;
  virtual void host(std::uint64_t bytes) = 0;
  virtual void refuse(std::uint64_t asked) = 0;
  virtual void not_yet(std::uint64_t asked) = 0;
};

struct MemorySettings {
  bool managed = false;  // it moves
  bool whole = false;  // as a checkpoint of the process, by the driver, which needs no pinned memory of ours
  std::optional<std::uint64_t> capacity = {};  // bytes for clients; none: what the device has
  std::uint64_t host = UINT64_MAX;             // bytes that all clients may pin
  std::uint64_t spare = 64 << 20;      // bytes of the device that nobody gets, unless `capacity` says it
  std::optional<Duration> slice = {};  // of the policy, to be held against what moves take
  Duration patience{2'000'000'000};    // of an ask, while nobody's state can leave
};

// Told of moves: leaves and comes (bytes), left and came (ns since the order), failed.
class MoveJournal {
 public:
  virtual ~MoveJournal() = default;
  virtual void moved(const KeptClient& client, const char* step, std::int64_t value) = 0;
};

class Keeper : public MemoryDesk {
 public:
  explicit Keeper(const MemorySettings& settings, MoveJournal* journal = nullptr)
      : settings_(settings), journal_(journal) {}

  void comes(KeptClient& client);
  void goes(const KeptClient& client);
  // As policies call it; none: no policy has it.
  void names(const KeptClient& client, std::optional<ClientId> id);
  // It stays where it is, whoever needs room, and no policy has it: it is about to move to another device.
  // That one keeps `bytes` free.
  void stays(const KeptClient& client, bool stays);
  void reserve(std::uint64_t bytes) { reserved_ = bytes; }
  // Bytes of the device that nobody may hold yet; none: not known.
  std::optional<std::uint64_t> unpromised() const;
  // The policy's permit: it takes effect once the client's state is on the device.
  void permit(KeptClient& client, std::uint32_t allowed, Time now);

  // Its state is on its way, or room that it has asked for: the time that this takes is not its own.
  bool arrives(const KeptClient& client) const;

  // Looks at all clients and carries moves on. Says when to look again unless something happens.
  Time step(Time now);

  struct Facts {
    std::string state;  // here, away, leaves, comes
    bool movable = true;
    std::uint64_t budget = 0;
  };
  Facts facts(const KeptClient& client) const;
  std::optional<std::uint64_t> capacity() const;  // none: not known yet
  std::uint64_t outside() const { return outside_; }
  const MemorySettings& settings() const { return settings_; }
  // The two largest states together, over the bus at the speed seen so far: equation 1 of Share-a-GPU. 0:
  // there are no two.
  Duration least_slice() const;

  // For policies that order moves
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
  void restore(ClientId client) override;
  void save(ClientId client) override;
  std::optional<Done> done() override;

 private:
  struct Kept {
    KeptClient* client = nullptr;
    ClientId id;
    bool named = false;
    KeptClient::Memory seen;
    std::uint32_t wanted = 0;  // the policy's permit
    bool in = false;           // its gate is open
    Goal goal = Goal::here;
    std::uint32_t number = 0;  // of the latest order
    std::uint64_t budget = 0, host = 0;
    std::uint64_t answered = 0;  // asks
    std::optional<Time> asks_since, fails_until;
    Time closed;
    std::optional<Time> ordered;                              // a move that is not over
    std::uint64_t turned = 0, looks = 0, claimed_before = 0;  // as of the step before
    bool deferred = false;                                    // its latest ask was put off
    bool stays = false;
    bool wished_away = false;  // by the policy, as soon as it can leave
    bool brought = false;      // the policy has ordered it back
    bool needed = false;       // others' room is made elsewhere, in this step
    std::optional<Time> left;  // it is away since then
    bool settled() const { return seen.done >= number; }
    bool here() const { return goal == Goal::here && seen.away == 0 && settled(); }
    bool leaves() const { return goal == Goal::away && !settled(); }
    // Or since it was ordered back for a turn that was over before it came.
    std::optional<Time> away_since() const { return goal == Goal::here && seen.away != 0 ? ordered : left; }
    std::uint64_t on_device() const { return seen.movable - std::min(seen.movable, seen.away); }
    std::uint64_t hold() const { return std::max(budget, seen.claimed); }
    // What others get if it leaves.
    std::uint64_t gives_up() const {
      if (goal == Goal::away || seen.away == 0) return on_device();
      return std::max(on_device(), hold() - std::min(hold(), seen.fixed));
    }
  };
  struct Need {
    Kept* kept = nullptr;
    std::uint64_t target = 0;  // the budget that it needs
    bool whole = false;        // all or nothing
  };

  Kept* find(const KeptClient& client);
  const Kept* find(const KeptClient& client) const;
  void look(Time now);
  void note_device();
  void set_budget(Kept& kept, std::uint64_t bytes);
  void order(Kept& kept, Goal goal);
  void tell(const Kept& kept, const char* step, std::int64_t value);
  std::uint64_t held_in_all() const;
  std::uint64_t free_room() const;
  bool can_leave(const Kept& kept, Time now);
  bool never_leaves(const Kept& kept) const;
  void stays(Kept& kept);
  std::uint64_t away_in_all() const;
  std::uint64_t stuck(const Kept& kept) const;
  std::uint64_t possible(const Kept& kept) const;
  std::vector<Need> needs(Time now);
  void serve(const std::vector<Need>& needs, Time now);
  void make_room(std::uint64_t shortage, Time now);
  Kept* victim(Time now);
  void answer_others(Time now);
  void bring_ahead();
  void bring_overdue(Time now);
  void let_in(Kept& kept);
  void foresee();
  void tell_available();

  const MemorySettings settings_;
  MoveJournal* journal_;
  Time now_;
  std::vector<std::unique_ptr<Kept>> all_;
  std::uint64_t total_ = 0, outside_ = 0, short_ = 0, reserved_ = 0;
  bool looked_ = false;  // at the device, while nobody else's claims changed
  std::vector<Done> done_;
  bool tight_ = false;  // more states than room: they need pinned memory
  bool waits_ = false;  // something goes on that only looking tells
};

}  // namespace gangway::live
