// The device's side of channels: one request at a time, channels in turn. Definition: sim/channels/README.md.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/identity.hpp"

namespace gangway {

// A kernel passed to the device.
struct Request {
  JobId job;
  std::uint32_t kernel = 0;
  LaunchId launch;
  Duration time;
  bool endless = false;
};

class ChannelTurns {
 public:
  struct Run {
    Request request;
    Time begins;               // after the switch
    std::optional<Time> ends;  // none: never
  };

  struct ClientChannels {
    std::uint32_t used = 1;
    bool graphics = false;
  };
  ChannelTurns(const ChannelCosts& costs, const std::vector<ClientChannels>& clients);
  void reset();

  void submit(std::uint32_t channel, const Request& request);
  // At the end of an instant: the request that starts now, if the device is free and one waits.
  const Run* begin(Time now);
  // The running request has ended.
  void end();
  // Removes all of the client. Returns whether that ended the running request.
  bool remove(ClientId client);

  const std::optional<Run>& run() const { return run_; }
  // The client's requests in its channels, including the running one.
  std::int64_t outstanding(ClientId client) const { return outstanding_[client.index]; }

 private:
  struct Channel {
    bool graphics = false;
    std::deque<Request> queue;
    // Graphics: how long channels that are not graphics may run before its next turn.
    Duration yields;
  };

  std::size_t next() const;

  ChannelCosts costs_;
  std::vector<std::size_t> first_;         // of each client's channels
  std::vector<Channel> channels_;          // in ring order
  std::vector<std::int64_t> outstanding_;  // by client
  std::size_t waiting_ = 0;                // total requests
  std::size_t turn_ = 0;                   // channel whose turn it is
  std::size_t left_ = 0;                   // requests left in this turn
  std::optional<ClientId> last_;           // owner of the last request
  std::optional<Run> run_;
};

}  // namespace gangway
