// Clients that submit requests to the device's channels, with or without a policy that controls access. Exact
// definition: sim/channels/README.md.
#pragma once

#include <vector>

#include "sim/access_world.hpp"
#include "sim/channels/host.hpp"
#include "sim/channels/turns.hpp"
#include "sim/copy_engines.hpp"

namespace gangway {

class ChannelWorld : public AccessWorld {
 public:
  explicit ChannelWorld(const WorldSetup& setup);

 private:
  enum Kind : std::uint32_t { kRelease = kOwnKinds, kHost, kTrap, kBegin, kEnd, kCopied };

  void pass(std::uint32_t thread) override;
  bool on_device(ClientId client) const override;
  std::optional<RunningRequest> running(ClientId client) const override;
  std::int64_t channels_needed(ClientId client) const override { return used_channels_[client.index]; }
  void opened(ClientId client) override { advance(hosts_[client.index]); }
  void vanish(ClientId client, Mark how) override;

  void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) override;
  std::uint64_t play_instant() override;
  void handle(const EventQueue::Event& event);

  void release(Host& host);
  void advance(Host& host);
  bool submit(Host& host);
  void submit_copy(Host& host, CopyDirection direction);
  void join(Host& host);
  void join_channel(Host& host);
  bool awaits_end(Host& host);
  void copy_out(Host& host);
  // Whether it waits for the job's requests and all are over.
  static bool settled(Host& host) {
    return host.stage == Host::Stage::settling && host.jobs.latest().outstanding == 0;
  }
  void end_of_program(Host& host);
  void finished(Host& host, std::uint32_t job);

  void begin_request();
  void started();
  void ended(std::uint64_t event);
  void begin_copies();
  void copied(std::uint32_t index, std::uint64_t event);
  void note_copy(const CopyQueue::Copy& copy, CopyDirection direction, Mark mark);
  Duration gap_before(const Host& host) const;
  Duration request_time(const Host& host) const;

  static ClientId id_of(const Host& host) { return host.run.id(); }

  std::vector<Host> hosts_;
  std::vector<std::uint32_t> used_channels_;  // by client
  std::vector<Duration> interception_;        // by client
  ChannelTurns turns_;
  CopyEngines copies_;
  std::uint64_t begin_event_ = 0, end_event_ = 0;  // of the running request; others are outdated
  std::uint64_t launches_ = 0;
};

}  // namespace gangway
