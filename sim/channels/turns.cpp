#include "sim/channels/turns.hpp"

namespace gangway {

ChannelTurns::ChannelTurns(const ChannelCosts& costs, const std::vector<std::uint32_t>& channels)
    : costs_(costs), outstanding_(channels.size()) {
  std::size_t all = 0;
  for (const std::uint32_t count : channels) {
    first_.push_back(all);
    all += count;
  }
  queues_.resize(all);
  reset();
}

void ChannelTurns::reset() {
  for (auto& queue : queues_) queue.clear();
  outstanding_.assign(outstanding_.size(), 0);
  waiting_ = left_ = 0;
  turn_ = queues_.empty() ? 0 : queues_.size() - 1;
  last_.reset();
  run_.reset();
}

void ChannelTurns::submit(std::uint32_t channel, const Request& request) {
  const std::uint32_t client = request.job.client.index;
  queues_[first_[client] + channel].push_back(request);
  ++outstanding_[client];
  ++waiting_;
}

const ChannelTurns::Run* ChannelTurns::begin(Time now) {
  if (run_ || waiting_ == 0) return nullptr;
  if (left_ == 0 || queues_[turn_].empty()) {
    turn_ = next();
    left_ = costs_.whole_queue ? queues_[turn_].size() : 1;
  }
  --left_;
  --waiting_;
  const Request request = queues_[turn_].front();
  queues_[turn_].pop_front();
  const ClientId client = request.job.client;
  const Time begins = last_ && *last_ != client ? now + costs_.context_switch : now;
  last_ = client;
  run_ = {request, begins, request.endless ? std::nullopt : std::optional(begins + request.time)};
  return &*run_;
}

std::size_t ChannelTurns::next() const {
  std::size_t channel = turn_;
  do channel = channel + 1 == queues_.size() ? 0 : channel + 1;
  while (queues_[channel].empty());
  return channel;
}

void ChannelTurns::end() {
  --outstanding_[run_->request.job.client.index];
  run_.reset();
}

bool ChannelTurns::remove(ClientId client) {
  const bool running = run_ && run_->request.job.client == client;
  if (running) run_.reset();
  const std::size_t end = client.index + 1 < first_.size() ? first_[client.index + 1] : queues_.size();
  for (std::size_t channel = first_[client.index]; channel < end; ++channel) {
    waiting_ -= queues_[channel].size();
    queues_[channel].clear();
  }
  outstanding_[client.index] = 0;
  return running;
}

}  // namespace gangway
