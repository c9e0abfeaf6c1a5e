// Plays a policy over live clients by opening and closing their gates. Access policies decide who may submit.
// Ownership policies grant a GPU to whole jobs: the owner's gate is open, the others' are closed; on several
// GPUs each client is on one. No side effects except through ports; time is passed to each call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/page.hpp"
#include "models/policy.hpp"
#include "models/run/grants.hpp"
#include "models/run/refusing_orders.hpp"
#include "models/take_forms.hpp"

namespace gangway::live {

// A client's kernel whose blocks are launched in slices now.
struct SlicedStanding {
  std::uint32_t number = 0;  // counts the client's such kernels, from 1
  std::uint32_t kernel = 0;  // equal for launches of one kernel with grids of one size
  BlockCount blocks, done, resident;
  std::optional<Duration> time = {};  // of all its blocks
};

// A snapshot of a client.
struct Standing {
  bool inside = false;            // a thread may be about to submit
  bool waiting = false;           // a thread is held at the gate
  bool changes_memory = false;    // a thread gets or frees memory
  std::uint64_t outstanding = 0;  // submissions not known to be over
  std::uint64_t away = 0;     // submissions behind evicted kernels; nothing runs then, and `outstanding` is 0
  std::uint64_t deepest = 0;  // the most outstanding on one stream
  std::uint64_t over = 0;     // changes whenever a submission is known to be over
  std::uint64_t job = 0;      // odd: one is under way
  bool endless = false;       // its job is the whole program
  bool outside = false;       // the job is work outside the program's ranges, up to a pause
  Duration unanswered = {};   // not drained: since its helper last began to ask what is over
  std::uint64_t submissions = 0;              // in all
  std::uint64_t asked = 0;                    // intercepted submissions so far
  std::int64_t channels = 0;                  // streams and contexts made
  Duration since_arrival = {};                // of the job under way
  std::optional<std::int32_t> priority = {};  // that the program requested, within its user's limit
  std::optional<SlicedStanding> slices = {};
  bool drained() const { return !inside && outstanding == 0; }
  bool busy() const { return !drained() || waiting || changes_memory; }  // or about to use the device
  // Adds another process of the same client. `job` and `asked` are numbers of one process: the caller has its
  // own. Kernels of several processes are not sliced.
  void merge(const Standing& other);
};

// The conductor's access to a client. No call waits for the client.
class Port {
 public:
  virtual ~Port() = default;
  virtual void permit(std::uint32_t allowed) = 0;  // 0, kUnlimited, kIntercepted, or a number in flight
  // While it is permitted, only jobs up to this one (Standing::job) may submit; 0: any. As far as it knows.
  virtual void until_job(std::uint64_t /*last*/) {}
  virtual void admit(std::uint64_t number) = 0;  // admits intercepted submissions up to this number
  virtual void rouse() {}                        // its gate may open soon: waiting threads should not sleep
  virtual Standing look() = 0;                   // exact after permit(0)
  // Most streams and contexts it may have besides its first context; none: any number; 0: it may not submit
  // either.
  static constexpr std::int64_t kFirstContextOnly = -1;  // none, but it may submit
  virtual void limit(std::optional<std::int64_t> /*channels*/) {}
  // While it is permitted, the blocks before `until` of that kernel may be launched.
  virtual void slice(std::uint32_t /*kernel*/, std::uint32_t /*until*/) {}
  virtual void ask() = 0;  // asks the client's helper thread to check its streams
  virtual void kill() = 0;
  // It is permitted, but its memory is still on its way to the device.
  virtual bool arrives() { return false; }
  virtual bool stopped() { return false; }  // by a signal, so that none of its threads run
};

// Clients' memory, for policies that move it: where it is, and orders to move it. A move is of a client's
// whole state.
class MemoryDesk : public MemoryView {
 public:
  virtual void restore(ClientId client) = 0;
  virtual void save(ClientId client) = 0;
  struct Done {
    ClientId client;
    MemoryMove move = MemoryMove::restore;
  };
  virtual std::optional<Done> done() = 0;  // the next move that is over; each once
  // How long it takes that the two largest states go and come; 0 while none is away.
  virtual Duration moves() const = 0;
};

struct GateSettings {
  std::uint32_t in_flight = 0;  // limit for clients that a more urgent one can displace; 0: none
  // How long a client may take to drain. Then its permit returns: the work may wait for its next submission.
  // A client whose helper does not answer has as long again.
  Duration drain_limit{100'000'000};
  Duration linger{1'000'000};  // an owner with nothing on the device for this long has ended its job
  // But a tenth of the time that moves of memory take, if that is longer: else each pause of an owner, which
  // is soon over, would cost two moves.
  bool linger_grows = false;
  std::optional<std::int64_t> channels = {};  // limit for all clients together
  // A client that gets none of them stays behind its gate, and the journal says so (Step::refused). Else its
  // submissions fail.
  bool holds_refused = false;
  bool overlap = false;          // the next owner starts when the gate is closed, not when all work is over
  MemoryDesk* memory = nullptr;  // none: clients' memory stays where it is
  std::uint32_t gpus = 1;        // more only for ownership policies
  TakeForms forms = TakeForms::none;  // which launches can leave before their end
};

// Journal entries. `value` is in ns unless stated.
enum class Step {
  opened,       // the client has come
  exited,       // the client has gone
  permitted,    // value: number in flight, -1: any, -2: one by one
  evicted,      // the policy ended a grant
  closed,       // the gate is closed, nobody inside; time since the order
  drained,      // nothing is on the device; time since the order
  returned,     // the permit was given back after drain_limit
  whole,        // from now on its permit is revoked between jobs only
  unconfirmed,  // stopped, possibly during a submission: no longer waited for
  killed,
  refused,  // no channel is left for it
  sliced,   // a slice is over; value: blocks of its kernel done
  stays,    // a slice is not over within the limit, and others continue; same value
};
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void note(Time now, Step step, ClientId client, std::int64_t value) = 0;
};

inline constexpr std::uint32_t kMostClients = 64;
// The permit that returns after drain_limit. An event behind each submission shows the client's progress.
inline constexpr std::uint32_t kReturned = kMostInFlight;

// What is known of a new client.
struct Introduction {
  std::int32_t priority = 0;
  std::uint32_t program = 0;  // the same for all clients that run the same program
  double weight = 1;
  std::optional<Duration> slo = {};    // latency objective of its jobs
  std::optional<Duration> alone = {};  // device time of its jobs; none: learnt
  const Attributes* attributes = nullptr;
  DeviceId gpu = {};  // the one that it is on
};

class Conductor : protected RefusingOrders {
 public:
  // InputError if the policy needs what live clients cannot do.
  static std::unique_ptr<Conductor> make(const std::string& name, std::shared_ptr<Policy> policy,
                                         const GateSettings& settings, Journal& journal);

  // Lets the policy decide for the first time. Call it before anything else.
  void begin(Time now);
  // Adds a client with a closed gate. None if there are kMostClients. A client that reuses the place of an
  // earlier one has the next generation.
  std::optional<ClientId> opens(Time now, Port& port, const Introduction& introduction);
  void exited(Time now, ClientId client);  // must be present
  // Looks at all clients, informs the policy and carries out its orders. Returns when to call again if
  // nothing happens: `now` if only polling can tell.
  Time step(Time now);
  // As of the last step.
  struct State {
    std::uint32_t allowed = 0;  // 0: closed; kUnlimited; kIntercepted; or a number in flight
    bool closing = false, whole = false, unconfirmed = false;
    Standing seen;
  };
  State state(ClientId client) const;  // must be present
  // Whether an arrival is urgent enough that the caller should poll instead of waiting for the bell.
  virtual bool alert() const { return false; }
  // Whether clients ever have to leave the device.
  virtual bool closes_gates() const { return true; }
  // Whether the policy orders the moves of clients' states.
  bool moves_memory() const { return policy_->needs().has(Capability::memory); }
  // Whether launches that can leave are made in slices, which the policy orders.
  virtual bool slices() const { return false; }

 protected:
  struct Client {
    Port* port = nullptr;  // null: absent
    ClientId id;           // of this client, or of the next one in its place
    std::int32_t priority = 0;
    double weight = 1;
    std::optional<Duration> slo, alone;
    const Attributes* attributes = nullptr;
    DeviceId gpu;
    std::uint32_t allowed = 0;
    std::uint64_t last_job = 0;  // that may submit; 0: any
    // While closing, until drained.
    bool closing = false, shut = false, returned = false, looked = false;
    bool asked_late = false;  // the helper, once the limit was over without an answer of it
    bool remains = false;     // its gate is closed, others may go on, and work of it is on the device
    Time ordered, since;
    Duration missed;         // since the order, while the daemon did not look
    std::uint64_t over = 0;  // Standing::over at `progressed`, when it last changed
    Time progressed;
    std::uint32_t overstays = 0, drains = 0;  // drains since the latest of them
    std::uint64_t returned_in = 0;            // Standing::job then
    bool whole = false;
    bool overdue = false;
    bool unconfirmed = false;
    Time asked_about;  // when stopped() was last asked
    Standing seen;
  };
  Conductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal,
            GrantOf of = GrantOf::job);

  virtual void came(ClientId client) = 0;
  virtual void went(ClientId client) = 0;
  virtual void gather() = 0;  // calls tell() for what the snapshots show
  virtual void reprioritised() {}
  virtual void decided() {}  // the policy has been told everything
  virtual bool impatient() = 0;
  virtual Duration look_within() const { return Duration::max(); }

  Client& of(ClientId client) { return clients_[client.index]; }
  // Whether the order's client is still present.
  bool is_there(ClientId client) const;
  void tell(const Fact& fact) { facts_.push_back(fact); }
  void permit(ClientId client, std::uint32_t allowed, std::uint64_t last_job = 0);
  void let_jobs(ClientId client, std::uint64_t last);  // may submit, up to this one; 0: all
  void close(ClientId client);
  // Takes the permit of a stopped client without waiting for it. False if it is not stopped.
  bool given_up(ClientId client);
  // Continues closing. True once nobody is inside and, if `and_drained`, nothing is on the device.
  bool closed(ClientId client, bool and_drained);
  Time now() const { return now_; }

  [[noreturn]] void impossible(const std::string& what) const override;
  TimerId wake_at(Time time) override;
  void cancel(TimerId timer) override;
  void kill(ClientId client) override;

  std::shared_ptr<Policy> policy_;
  const GateSettings settings_;
  Journal& journal_;
  Grants grants_;  // what the policy sees
  std::vector<Client> clients_;
  Duration limit_ = Duration::max();  // set by watch()

 private:
  void look();
  void overlook_absence();
  void stand_still();
  void hear_of_moves();
  void fire();
  void decide();  // until there is nothing more to tell

  struct Alarm {
    Time time;
    TimerId id;
  };
  Time now_, stepped_;
  std::vector<Fact> facts_;
  std::vector<Alarm> alarms_;
  std::uint64_t timers_ = 0;
};

}  // namespace gangway::live
