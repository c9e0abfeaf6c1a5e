// Common to worlds in which clients submit by themselves, with or without a policy that controls access:
// which submissions trap, wait and continue, and what the scheduler sees of the device, and when. A derived
// world defines submissions and what they join. Exact definitions: sim/channels/README.md, and
// sim/recorded/README.md for recorded programs.
#pragma once

#include <optional>
#include <vector>

#include "sim/event_world.hpp"

namespace gangway {

class AccessWorld : public EventWorld {
 protected:
  enum AccessKind : std::uint32_t {
    kDrainSeen = kTimer + 1,
    kSampleSeen,
    kSpan,
    kNextSampled,
    kOverdue,
    kOwnKinds
  };

  // `host_threads`: number per client, in client order; threads are numbered over all clients.
  AccessWorld(const WorldSetup& setup, const std::vector<std::uint32_t>& host_threads);
  void reset_access(const Policy& policy, const RunSeed& seed);

  // --- Provided by the world
  // A waiting submission of the thread continues.
  virtual void pass(std::uint32_t thread) = 0;
  // Whether any submission of the client is not over.
  virtual bool on_device(ClientId client) const = 0;
  // The client's longest-running request, and a number that identifies it.
  struct RunningRequest {
    Time since;
    std::uint64_t id = 0;
  };
  virtual std::optional<RunningRequest> running(ClientId client) const = 0;
  // With fewer channels the client is refused.
  virtual std::int64_t channels_needed(ClientId client) const = 0;
  // The client has its channels and can begin.
  virtual void opened(ClientId client) = 0;
  // Killed or refused: its jobs end as `how` says, and nothing of it is on the device any more.
  virtual void vanish(ClientId client, Mark how) = 0;
  // Report used() up to now; the value is needed.
  virtual void bring_use_up_to_date() {}
  // Whether each submission of a sampled client waits until nothing of it is on the device.
  virtual bool sampled_one_by_one() const { return false; }

  // --- Called by the world
  // Whether the policy receives facts about clients.
  bool controlled() const { return controlled_; }
  void access_due(const EventQueue::Event& event);
  // A thread submits this many requests. True if that traps: call trap_over() when the trap ends; pass()
  // follows. False: the submission continues at once.
  bool traps(std::uint32_t thread, std::int64_t requests);
  void trap_over(std::uint32_t thread);
  // Whether the thread's latest submission has trapped.
  bool trapped(std::uint32_t thread) const { return submissions_[thread].trapped; }
  // The client's first job is released. It opens after this instant's decision.
  void asks_to_open(ClientId client, std::int64_t channels);
  void open_clients();
  bool is_open(ClientId client) const { return controls_[client.index].open; }
  bool is_gone(ClientId client) const { return controls_[client.index].gone; }
  // All its jobs are over.
  void close(ClientId client);
  // Adds device time of the client.
  void used(ClientId client, Duration time);
  // Work of the client has ended or now runs.
  void stir(ClientId client) { stirred_.push_back(client); }
  void watch_request(ClientId client);
  // All events of the instant are over.
  void look();

 private:
  // A client whose requests are being counted.
  struct Sampling {
    Time since, until;
    std::int64_t wanted = 0, joined = 0;  // requests
    Duration busy, trapped;
    Time counted;                    // up to then, in `trapped`
    std::optional<Duration> lasted;  // it is over, which has not been seen yet
    bool admits(Time now) const { return now < until && joined < wanted; }
  };
  struct Drain {
    Time since;
    bool seen_soon = false;
  };
  struct Control {  // per client
    ClientId id;
    std::uint32_t first_thread = 0, end_thread = 0;
    bool opening = false, open = false, gone = false;
    std::int64_t channels = 0;            // requested; then open
    std::optional<std::int64_t> granted;  // the policy's limit, if given
    Access access = Access::direct;
    std::optional<Drain> drain;
    std::optional<Sampling> sampling;
    std::uint64_t overdue_event = 0;
    std::optional<std::uint64_t> overdue_request;  // the one being watched
    Time overdue_since;
    bool overdue = false;  // in this instant
    bool used = false;     // since the policy was last told
    Duration usage;        // likewise
  };
  struct Submission {  // the latest one of a host thread
    std::uint32_t client = 0;
    bool trapped = false;
    bool waits = false;  // after the trap
    std::int64_t requests = 0;
    Time trap_began, waits_since;
    RequestId held;  // waiting for admission
  };

  void kill(ClientId client) override;
  void access(ClientId client, Access access) override;
  void admit(RequestId request) override;
  void grant(ClientId client, std::int64_t channels) override;
  void drain(ClientId client) override;
  void sample(ClientId client, Duration span, std::int64_t requests) override;
  void watch(Duration limit) override;

  void check_controlled(const char* order) const;
  Control& control_of(ClientId client, const char* order);
  void note_access(const Control& control, std::int64_t access);
  void leave(ClientId client, Mark how);

  void settle(std::uint32_t thread);
  void settle_waiting(const Control& control);
  void let_pass(std::uint32_t thread);
  bool waits(const Control& control) const;

  void check_drained(Control& control);
  void drained(Control& control);
  void check_sampled(Control& control);
  void sampled(Control& control);
  void check_overdue(Control& control);
  void tell_activity(Control& control);
  Duration until_seen();
  void inform(const Fact& fact) {
    if (controlled_) tell(fact);
  }

  std::vector<Control> controls_;        // by client
  std::vector<Submission> submissions_;  // by host thread
  std::vector<ClientId> opening_;        // in this instant
  std::vector<ClientId> stirred_;        // likewise
  std::int64_t open_channels_ = 0;
  std::optional<Duration> limit_;  // of requests
  std::uint64_t requests_ = 0;     // that waited for admission
  bool controlled_ = false;
  Stream polls_{0, "", {}};
};

}  // namespace gangway
