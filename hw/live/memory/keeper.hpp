// The daemon's side of clients' memory: decides how much of the device each client may hold, and whose state
// leaves so that another's can come. No side effects except through its clients; callers pass the time.
//
// What clients may hold never exceeds the capacity: a client gets room only after others have given it up. A
// client's gate opens only when all of its state is on the device, even if the policy opened it earlier.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/conductor.hpp"
#include "hw/live/memory/memory_page.hpp"
#include "hw/live/memory/passed_memory.hpp"

namespace gangway::live {

// The keeper's access to a client. Its orders: memory_page.hpp. No call waits for the client.
class KeptClient {
 public:
  struct Memory {  // bytes, as MemoryStanding has them
    std::uint64_t claimed = 0, movable = 0, away = 0, fixed = 0, asked = 0, want = 0, done = 0, turned = 0,
                  host = 0, saved = 0, piece = 0, lent = 0, total = 0, free = 0, held = 0, looks = 0;
    bool no_host = false;
    bool changing = false;  // a thread gets or frees memory: what is claimed need not be on the device
    bool answers = false;   // a thread of the client moves its memory, and says when an order is carried out
    // How its state leaves: as the daemon moves memory; or piece by piece, with its process, or not at all,
    // as a client of an earlier daemon, which moved memory otherwise.
    enum class Leaves { as_usual, in_pieces, whole, never } leaves = Leaves::as_usual;
    std::uint32_t error = 0;  // the driver's, of the latest move that failed
    std::uint64_t footprint() const { return movable + fixed; }
  };
  virtual ~KeptClient() = default;
  virtual void let_in(std::uint32_t allowed) = 0;  // as Port::permit()
  virtual Standing look() = 0;
  virtual Memory memory() const = 0;
  virtual bool stopped() { return false; }  // by a signal, so that it carries out nothing
  virtual void order(Goal goal, std::uint32_t number) = 0;
  virtual void budget(std::uint64_t bytes) = 0;  // a sequentially consistent store
  virtual void available(std::uint64_t bytes) = 0;
  virtual void host(std::uint64_t bytes) = 0;
  virtual void refuse(std::uint64_t asked) = 0;
  virtual void not_yet(std::uint64_t asked) = 0;
  // Memory that is passed on (passed_memory.hpp): only to clients of the same owner.
  virtual std::uint64_t owner() const { return 0; }
  virtual void pass(std::uint64_t) {}  // pieces of this size; 0: none
  virtual std::vector<PassedMemory> passed() { return {}; }
  virtual bool lend(const PassedMemory&) { return false; }
};

struct MemorySettings {
  bool managed = false;  // whether clients' memory moves
  bool whole = false;    // by the driver's checkpoints of processes, without pinned memory
  std::optional<std::uint64_t> capacity = {};  // bytes for clients; none: what the device has
  std::uint64_t most = UINT64_MAX;             // bytes for clients at most, of what the device has
  std::uint64_t host = UINT64_MAX;             // bytes that all clients may pin
  std::uint64_t spare = 64 << 20;      // bytes of the device that no client gets, without a `capacity`
  std::optional<Duration> slice = {};  // the policy's, to compare with the time of moves
  Duration patience{2'000'000'000};    // of an ask, while no state can leave
};

// Told of moves: leaves and comes (bytes), left and came (ns since the order), failed.
class MoveJournal {
 public:
  virtual ~MoveJournal() = default;
  virtual void moved(const KeptClient& client, const char* step, std::int64_t value) = 0;
  // Once for each client: its state cannot leave under this daemon; or others may need its room, and there is
  // no host memory to which it could go.
  virtual void cannot_leave(const KeptClient& /*client*/) {}
};

class Keeper : public MemoryDesk {
 public:
  explicit Keeper(const MemorySettings& settings, MoveJournal* journal = nullptr)
      : settings_(settings), journal_(journal) {}

  // Adds a client, which must live until goes(). It keeps what it already holds.
  void comes(KeptClient& client);
  void goes(const KeptClient& client);
  // The client's ID in its policy; none: it has no policy.
  void names(const KeptClient& client, std::optional<ClientId> id);
  // While a client is about to move to another device, its state stays in place even if others need room, and
  // it has no policy. The other device's keeper reserves `bytes` for it.
  void stays(const KeptClient& client, bool stays);
  void reserve(std::uint64_t bytes) { reserved_ = bytes; }
  // Bytes of the capacity that no client holds or needs; none: not known.
  std::optional<std::uint64_t> unpromised() const;
  // Whether the policy orders the moves of its clients' states: then none comes ahead of its turn without an
  // order.
  void moves_by_orders(bool ordered) { ordered_ = ordered; }
  // The policy's permit. It takes effect once the client's state is on the device.
  void permit(KeptClient& client, std::uint32_t allowed, Time now);

  // Whether the client waits for its state, or for room that it asked for. This time is not counted as its
  // own.
  bool arrives(const KeptClient& client) const;

  // Looks at all clients and continues moves. Returns when to call again if nothing happens.
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
  // How long copying the two largest states takes (equation 1 of Share-a-GPU). 0: fewer than two have any.
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
  Duration moves() const override;

 private:
  static constexpr Duration kMostAway{1'000'000'000};  // of a process that may wait in the driver, unseen
  // What shows that a client has done something.
  struct Doings {
    std::uint64_t submissions = 0, job = 0, claimed = 0, asked = 0;
    bool operator==(const Doings&) const = default;
  };
  struct Kept {
    KeptClient* client = nullptr;
    ClientId id;
    bool named = false;
    KeptClient::Memory seen;
    std::uint32_t wanted = 0;  // the policy's permit
    bool in = false;           // its gate is open
    Goal goal = Goal::here;
    std::uint32_t number = 0;  // of the latest order
    std::uint64_t budget = 0;
    std::uint64_t host = 0;                     // pinned memory that it was told to have
    std::uint64_t hosted = 0;                   // likewise, or that is kept for it
    bool said_to_stay = false;                  // the journal has heard that it cannot leave
    std::uint64_t passes = 0, passes_most = 0;  // size of pieces to pass on; bytes that it still may
    std::uint64_t lent = 0;                     // bytes so far, as MemoryStanding::lent has them
    std::uint64_t answered = 0;                 // asks
    std::uint64_t granted = 0;                  // the budget that the latest of them got
    std::optional<Time> asks_since, fails_until;
    std::uint64_t asks_after = 0;  // looks at the device, when its ask was first seen
    Time granted_at{INT64_MIN / 2};
    Time closed;
    Time advanced;          // when more of it had been copied out or pinned
    unsigned failures = 0;  // of moves, since one to the host succeeded; the latest:
    Time failed;
    bool stopped = false;
    std::optional<Time> asked_about;                          // when `stopped` was looked up
    bool stalled = false;                                     // it should leave, but does not go on
    std::optional<Time> ordered;                              // a move that is not over
    std::uint64_t turned = 0, looks = 0, claimed_before = 0;  // as of the previous step
    bool changed_before = false;                              // likewise
    bool deferred = false;                                    // its latest ask was put off
    bool graced = false;                                      // it has come in since, once
    bool stays = false;
    bool wished_away = false;        // the policy has ordered it away; it cannot leave yet
    bool brought = false;            // it was ordered back before its turn
    bool needed = false;             // in this step it does not make room for others
    std::optional<Time> left;        // since when it has been away
    bool shut = false;               // closed by the keeper though the policy opened it, until it waits
    bool overdue = false;            // ordered back as it was away for `most_away`; has not left since
    Duration most_away = kMostAway;  // it may be away for so long before that
    std::optional<Time> gone_since;  // since when it has not been on the device as a whole
    // In this step: it goes before clients that the policy lets in; or for it nobody leaves.
    bool goes_first = false, hopeless = false;
    Time rests_until;                // until then it does not leave for another overdue one
    Doings did;                      // its doings when it came back
    Doings does;                     // its doings at the previous look of idle_owner()
    std::optional<Time> idle_since;  // as far as idle_owner() has looked
    bool is_let_in() const { return wanted != 0 && !shut; }
    bool settled() const { return seen.done >= number; }
    bool here() const { return goal == Goal::here && seen.away == 0 && settled(); }
    bool leaves() const { return goal == Goal::away && !settled(); }
    bool goes_on() const { return leaves() && !stalled; }
    // If it was ordered back and has not come yet, since that order.
    std::optional<Time> away_since() const { return goal == Goal::here && seen.away != 0 ? ordered : left; }
    std::uint64_t on_device() const { return seen.movable - std::min(seen.movable, seen.away); }
    // What it was lent and has not answered yet, it has not claimed yet either.
    std::uint64_t without_spare() const { return seen.claimed + less(lent, seen.lent); }
    std::uint64_t hold() const { return std::max(budget, without_spare()); }
    // Whether what it may take and has not can be recalled. It may be about to take what it has asked for.
    bool spares() const {
      return (goal == Goal::away || seen.away == 0) && seen.asked <= answered && budget > seen.claimed;
    }
    // What it was given beyond that.
    std::uint64_t ahead() const { return spares() ? less(budget, std::max(without_spare(), granted)) : 0; }
    // Bytes that others gain if it leaves.
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

  static std::uint64_t less(std::uint64_t from, std::uint64_t bytes) {
    return from > bytes ? from - bytes : 0;
  }
  Kept* find(const KeptClient& client);
  const Kept* find(const KeptClient& client) const;
  void look(Time now);
  void note_device();
  void set_budget(Kept& kept, std::uint64_t bytes);
  void collect(Kept& kept);
  void pass_on(const std::vector<Need>& needs);
  static bool takes(const Need* need, std::uint64_t size, std::uint64_t owner);
  std::uint64_t passed_in_all() const;
  void order(Kept& kept, Goal goal);
  void tell(const Kept& kept, const char* step, std::int64_t value);
  std::uint64_t held_in_all() const;
  std::uint64_t free_room() const;
  bool overdrawn() const;
  bool stopped(Kept& kept, Time now);
  bool stalls(Kept& kept, Time now);
  bool can_leave(Kept& kept, Time now);
  bool could_leave(Kept& kept, Time now);
  bool never_leaves(const Kept& kept) const;
  void stays(Kept& kept);
  std::uint64_t away_in_all() const;
  // By a client whose state leaves in pieces: the host memory that it has, or may have.
  std::uint64_t pinned(const Kept& kept) const { return std::max(kept.host, kept.seen.host); }

  // keeper_host.cpp
  bool whole(const Kept& kept) const;
  bool in_pieces(const Kept& kept) const;
  bool never(const Kept& kept) const { return kept.seen.leaves == KeptClient::Memory::Leaves::never; }
  std::uint64_t could_pin(const Kept& kept) const;
  bool stays_for_good(const Kept& kept) const;
  std::uint64_t stuck(const Kept& kept) const;
  std::uint64_t beside_others(const Kept& kept, std::uint64_t best) const;
  std::uint64_t room_at_best(const Kept& kept) const;
  std::uint64_t possible(const Kept& kept) const;
  bool can_swap(const Kept& kept, std::uint64_t target) const;
  bool ever(const Kept& kept, std::uint64_t target) const;
  bool hosted_by_now(const Kept& kept, std::uint64_t target) const;
  std::uint64_t asked_state(const Kept& kept) const;
  void share_host();
  void say_it_stays(Kept& kept);
  void foresee();

  std::vector<Need> needs(Time now);
  void answer(Kept& kept);
  void refuse(Kept& kept);
  bool hears_no(const Kept& kept, Time now) const;
  void serve(const std::vector<Need>& needs, Time now);
  void give_ahead(Kept& kept);
  void recall_ahead();
  bool has_room(std::uint64_t bytes);
  void make_room(std::uint64_t shortage, bool urgent, bool overdue, Time now);
  Kept* victim(bool urgent, Time now);
  void answer_others(Time now);
  void bring_ahead();

  // keeper_overdue.cpp
  void bring_overdue(Time now);
  Kept* idle_owner(bool urgent, Time now);
  bool overlong(Kept& kept, Time now);
  bool could_come(Kept& kept, bool owners, Time now);
  bool rests(const Kept& kept, bool urgent, Time now) const;
  static Doings doings_of(const Kept& kept);
  void note_return(Kept& kept);
  void note_rest(Kept& kept);

  void let_in(Kept& kept);
  void tell_available();

  const MemorySettings settings_;
  MoveJournal* journal_;
  Time now_;
  std::vector<std::unique_ptr<Kept>> all_;
  std::uint64_t total_ = 0, outside_ = 0, short_ = 0, reserved_ = 0;
  std::uint64_t host_left_ = UINT64_MAX;  // bytes of the host's that nobody has, or would get
  bool looked_ = false;                   // a client looked at the device while no other's claims changed
  struct Passage {
    PassedMemory memory;
    const KeptClient* from = nullptr;  // it may be gone
    std::uint64_t owner = 0;
  };
  std::vector<Passage> passed_;  // that nobody has now
  std::vector<Done> done_;
  bool tight_ = false;    // not all states fit: they need pinned memory
  bool ordered_ = false;  // by the policy
  bool waits_ = false;    // something is under way whose end only polling shows
  bool halted_ = false;   // likewise, but of a process that a signal has stopped
};

}  // namespace gangway::live
