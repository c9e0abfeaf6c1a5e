// Plays a policy over live clients by opening and closing their gates. Two families: access policies say who
// may submit; ownership policies grant the device to whole jobs: the owner's gate is open, the others'
// closed. Pure but for the ports: time comes in with each call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/page.hpp"
#include "models/policy.hpp"
#include "models/run/grants.hpp"
#include "models/run/refusing_orders.hpp"

namespace gangway::live {

// What is seen of a client at once.
struct Standing {
  bool inside = false;            // a thread may be about to submit
  bool waiting = false;           // a thread is held at the gate
  std::uint64_t outstanding = 0;  // submissions not known to be over
  std::uint64_t deepest = 0;      // on one stream, of those
  std::uint64_t over = 0;         // a count that changes whenever a submission is known to be over
  std::uint64_t job = 0;          // odd: one is under way
  bool endless = false;           // its job is the whole program
  std::uint64_t submissions = 0;  // in all
  std::uint64_t asked = 0;        // numbers of intercepted submissions
  std::int64_t channels = 0;      // streams and contexts that it has made
  Duration since_arrival = {};    // of the job under way
  bool drained() const { return !inside && outstanding == 0; }
};

// A client as the conductor reaches it. No call waits for the client.
class Port {
 public:
  virtual ~Port() = default;
  virtual void permit(std::uint32_t allowed) = 0;     // 0, kUnlimited, kIntercepted, or so many in flight
  virtual void admit(std::uint64_t number) = 0;       // of an intercepted submission, and those before it
  virtual Standing look() = 0;                        // after permit(0): exact
  virtual void limit(std::optional<std::int64_t>) {}  // channels that it may have
  virtual void ask() = 0;                             // the client's helper should look after its streams
  virtual void kill() = 0;
  // It is permitted, but its memory is still on its way to the device.
  virtual bool arrives() { return false; }
  virtual bool stopped() { return false; }  // by a signal, so that nothing of it goes on
};

// Clients' memory, for policies that move it: what of it is where, and the orders about it. A client's moves
// are all of its state.
class MemoryDesk : public MemoryView {
 public:
  virtual void restore(ClientId client) = 0;
  virtual void save(ClientId client) = 0;
  struct Done {
    ClientId client;
    MemoryMove move = MemoryMove::restore;
  };
  virtual std::optional<Done> done() = 0;  // the next of the moves that are over, once each
};

struct GateSettings {
  std::uint32_t in_flight = 0;  // of clients that a more urgent one can displace; 0: any number
  Duration drain_limit{
      100'000'000};            // then the permit returns: something waits for the client's next submission
  Duration linger{1'000'000};  // an owner of whom nothing was on the device for so long has ended its job
  std::optional<std::int64_t> channels = {};  // that all clients can have; none: any number
  bool overlap = false;          // the next owner begins when the gate is closed, not when all is over
  MemoryDesk* memory = nullptr;  // none: clients' memory stays where it is
};

// What happened, for a journal. `value` is ns where not said otherwise.
enum class Step {
  opened,       // a client is there
  exited,       // and gone
  permitted,    // value: in flight, -1 any number, -2 one by one
  evicted,      // the policy takes a grant back
  closed,       // the gate: nobody is inside; since the order
  drained,      // nothing is on the device; since the order
  returned,     // the permit, after drain_limit
  whole,        // from now on never revoked inside a job
  unconfirmed,  // it is stopped, and may be in the middle of a submission: nobody waits for it
  killed,
};
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void note(Time now, Step step, ClientId client, std::int64_t value) = 0;
};

inline constexpr std::uint32_t kMostClients = 64;
// What a client has when its permit is returned: an event behind each submission tells how far it is.
inline constexpr std::uint32_t kReturned = kMostInFlight;

// What is known of a client when it comes.
struct Introduction {
  std::int32_t priority = 0;
  std::uint32_t program = 0;  // clients that run the same program have the same number
  double weight = 1;
  std::optional<Duration> slo = {};    // objective for the latency of its jobs
  std::optional<Duration> alone = {};  // how long its jobs use the device; none: to be learnt
  const Attributes* attributes = nullptr;
};

class Conductor : protected RefusingOrders {
 public:
  // InputError where the policy needs what live clients cannot do.
  static std::unique_ptr<Conductor> make(const std::string& name, std::shared_ptr<Policy> policy,
                                         const GateSettings& settings, Journal& journal);

  void begin(Time now);
  // A client whose gate is closed. None: there are kMostClients already. A client that takes the place of one
  // that has left has the next generation.
  std::optional<ClientId> opens(Time now, Port& port, const Introduction& introduction);
  void exited(Time now, ClientId client);  // one that is there
  // Looks at all clients, tells the policy what happened and carries out its orders. Says when to call again
  // unless something happens: `now` where only looking tells.
  Time step(Time now);
  // As of the last step.
  struct State {
    std::uint32_t allowed = 0;  // 0: closed; kUnlimited; kIntercepted; or so many in flight
    bool closing = false, whole = false, unconfirmed = false;
    Standing seen;
  };
  State state(ClientId client) const;  // of one that is there
  // Whether a client's arrival is so urgent that the caller should rather look all the time than be rung for.
  virtual bool alert() const { return false; }

 protected:
  struct Client {
    Port* port = nullptr;  // null: not there
    ClientId id;           // its own, or that of whoever comes next
    std::int32_t priority = 0;
    double weight = 1;
    std::optional<Duration> slo, alone;
    const Attributes* attributes = nullptr;
    std::uint32_t allowed = 0;
    // Closing, until drained.
    bool closing = false, shut = false, returned = false, looked = false;
    Time ordered, since;
    std::uint64_t over = 0;  // as of `progressed`, when something of it was last known to be over
    Time progressed;
    std::uint32_t overstays = 0;
    bool whole = false;
    bool overdue = false;
    bool unconfirmed = false;
    Time asked_about;  // whether it is still stopped
    Standing seen;
  };
  Conductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal);

  virtual void came(ClientId client) = 0;
  virtual void went(ClientId client) = 0;
  virtual void gather() = 0;  // tell() what the standings say
  virtual void decided() {}   // the policy has been told everything
  virtual bool impatient() = 0;
  virtual Duration look_within() const { return Duration::max(); }

  Client& of(ClientId client) { return clients_[client.index]; }
  // Whether an order about the client is about one that has not left.
  bool is_there(ClientId client) const;
  void tell(const Fact& fact) { facts_.push_back(fact); }
  void permit(ClientId client, std::uint32_t allowed);
  void close(ClientId client);
  // Takes the permit of a client that is stopped, and does not wait for it. False: it is not stopped.
  bool given_up(ClientId client);
  // Drives a closing on. True: nobody is inside and, unless told otherwise, nothing on the device.
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
  Duration limit_ = Duration::max();  // watch()

 private:
  void look();
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
