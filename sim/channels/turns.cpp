#include "sim/channels/turns.hpp"

#include <algorithm>

namespace gangway {

ChannelTurns::ChannelTurns(const ChannelCosts& costs, const std::vector<ClientChannels>& clients)
    : costs_(costs), outstanding_(clients.size()) {
  for (const ClientChannels& client : clients) {
    first_.push_back(channels_.size());
    channels_.resize(channels_.size() + client.used, {client.graphics, {}, {}});
  }
  reset();
}

void ChannelTurns::reset() {
  for (Channel& channel : channels_) channel = {channel.graphics, {}, {}};
  outstanding_.assign(outstanding_.size(), 0);
  waiting_ = left_ = 0;
  turn_ = channels_.empty() ? 0 : channels_.size() - 1;
  last_.reset();
  run_.reset();
}

void ChannelTurns::submit(std::uint32_t channel, const Request& request) {
  const std::uint32_t client = request.job.client.index;
  channels_[first_[client] + channel].queue.push_back(request);
  ++outstanding_[client];
  ++waiting_;
}

const ChannelTurns::Run* ChannelTurns::begin(Time now) {
  if (run_ || waiting_ == 0) return nullptr;
  if (left_ == 0 || channels_[turn_].queue.empty()) {
    turn_ = next();
    left_ = costs_.whole_queue ? channels_[turn_].queue.size() : 1;
    channels_[turn_].yields = {};
  }
  --left_;
  --waiting_;
  const Request request = channels_[turn_].queue.front();
  channels_[turn_].queue.pop_front();
  const ClientId client = request.job.client;
  const Time begins = last_ && *last_ != client ? now + costs_.context_switch : now;
  last_ = client;
  run_ = {request, begins, request.endless ? std::nullopt : std::optional(begins + request.time)};
  return &*run_;
}

std::size_t ChannelTurns::next() const {
  const bool others_wait = std::any_of(channels_.begin(), channels_.end(),
                                       [](const Channel& c) { return !c.graphics && !c.queue.empty(); });
  std::size_t channel = turn_;
  do channel = channel + 1 == channels_.size() ? 0 : channel + 1;
  while (channels_[channel].queue.empty() || (others_wait && channels_[channel].yields > Duration{}));
  return channel;
}

void ChannelTurns::end() {
  const Duration time = run_->request.time;
  if (channels_[turn_].graphics) {
    channels_[turn_].yields += time;
  } else {
    for (Channel& channel : channels_) channel.yields = std::max(Duration{}, channel.yields - time);
  }
  --outstanding_[run_->request.job.client.index];
  run_.reset();
}

bool ChannelTurns::remove(ClientId client) {
  const bool running = run_ && run_->request.job.client == client;
  if (running) run_.reset();
  const std::size_t next = client.index + std::size_t{1};
  const std::size_t end = next < first_.size() ? first_[next] : channels_.size();
  for (std::size_t channel = first_[client.index]; channel < end; ++channel) {
    waiting_ -= channels_[channel].queue.size();
    channels_[channel].queue.clear();
  }
  outstanding_[client.index] = 0;
  return running;
}

}  // namespace gangway
