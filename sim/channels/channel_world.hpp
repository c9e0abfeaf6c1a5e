// Clients that hand their requests to the device's channels themselves, under a policy that controls access,
// or none. sim/channels/README.md is its exact definition.
#pragma once

#include <vector>

#include "sim/channels/host.hpp"
#include "sim/channels/turns.hpp"
#include "sim/copy_engines.hpp"
#include "sim/event_world.hpp"

namespace gangway {

class ChannelWorld : public EventWorld {
 public:
  explicit ChannelWorld(const WorldSetup& setup);

 private:
  enum Kind : std::uint32_t {
    kRelease = kTimer + 1,
    kHost,
    kTrap,
    kBegin,
    kEnd,
    kDrainSeen,
    kSampleSeen,
    kSpan,
    kOverdue,
    kCopied
  };

  void kill(ClientId client) override;
  void access(ClientId client, Access access) override;
  void admit(RequestId request) override;
  void grant(ClientId client, std::int64_t channels) override;
  void drain(ClientId client) override;
  void sample(ClientId client, Duration span, std::int64_t requests) override;
  void watch(Duration limit) override;

  void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) override;
  std::uint64_t play_instant() override;
  void handle(const EventQueue::Event& event);

  void release(Host& host);
  void open_clients();
  void advance(Host& host);
  bool submit(Host& host);
  void submit_copy(Host& host, CopyDirection direction);
  void trap_over(Host& host);
  // A submission that has trapped, or waits: as the access says now. Returns whether it joined its channel.
  bool settle_submission(Host& host);
  void join(Host& host);
  void join_channel(Host& host);
  bool awaits_end(Host& host);
  void copy_out(Host& host);
  // It waits for the job's requests, and there are none any more.
  static bool settled(Host& host) {
    return host.stage == Host::Stage::settling && host.jobs.latest().outstanding == 0;
  }
  void end_of_program(Host& host);
  void finished(Host& host, std::uint32_t job);
  void leave(Host& host, Mark how);
  void close(Host& host);

  void begin_request();
  void started();
  void ended(std::uint64_t event);
  void begin_copies();
  void copied(std::uint32_t index, std::uint64_t event);
  void note_copy(const CopyQueue::Copy& copy, CopyDirection direction, Mark mark);
  bool on_device(const Host& host) const {
    return turns_.outstanding(id_of(host)) > 0 || host.stage == Host::Stage::copying;
  }
  Duration gap_before(const Host& host) const;
  Duration request_time(const Host& host) const;

  void set_access(Host& host, Access access);
  void look();
  void check_drained(Host& host);
  void drained(Host& host);
  void check_sampled(Host& host);
  void sampled(Host& host);
  void tell_activity(Host& host);
  void watch_run(Host& host);
  void overdue(Host& host, std::uint64_t event);
  Duration until_seen();

  Host& host_of(ClientId client, const char* order);
  static ClientId id_of(const Host& host) { return host.run.id(); }
  void inform(const Fact& fact) {
    if (heard_) tell(fact);
  }

  std::vector<Host> hosts_;
  std::vector<std::uint32_t> used_channels_;  // by client
  std::vector<Duration> interception_;        // by client
  ChannelTurns turns_;
  CopyEngines copies_;
  std::vector<ClientId> opening_;  // in this instant
  std::vector<ClientId> stirred_;  // something of theirs ended in this instant
  std::int64_t open_channels_ = 0;
  std::optional<Duration> limit_;                  // of requests
  std::uint64_t begin_event_ = 0, end_event_ = 0;  // of the running request; others are out of date
  std::uint64_t launches_ = 0, requests_ = 0;
  bool heard_ = false;  // the policy wants to hear of clients
  Stream polls_{0, "", {}};
};

}  // namespace gangway
