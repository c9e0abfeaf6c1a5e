#include "sim/blocks/stream_queues.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace gangway {

StreamQueues::StreamQueues(std::size_t streams, std::optional<std::uint32_t> null, const Device& device,
                           Alarm alarm)
    : streams_(streams),
      null_(null),
      rules_(device.rules),
      by_channel_(device.channels && static_cast<std::size_t>(*device.channels) < streams &&
                  device.rules.on(Rule::B1)),
      dynamic_(device.channel_assignment == ChannelAssignment::dynamic),
      channels_(by_channel_ ? static_cast<std::size_t>(*device.channels) : 0),
      issue_delay_{device.delays.kernel_issue, device.delays.copy_issue},
      ready_{DelayLine<std::uint32_t>(device.delays.kernel_issue, alarm),
             DelayLine<std::uint32_t>(device.delays.copy_issue, alarm)},
      over_{DelayLine<Ended>(device.delays.kernel_end, alarm),
            DelayLine<Ended>(device.delays.copy_end, alarm)},
      all_(streams) {
  std::iota(all_.begin(), all_.end(), 0u);
}

void StreamQueues::reset() {
  for (Stream& stream : streams_) stream = {};
  for (Channel& channel : channels_) channel = {};
  for (auto& line : ready_) line.clear();
  for (auto& line : over_) line.clear();
  issued_ = 0;
  changed_.clear();
}

void StreamQueues::issue(std::uint32_t stream, Operation operation, Time now) {
  Stream& s = streams_[stream];
  operation.issued = ++issued_;
  operation.ready = now + issue_delay_[operation.copy];
  if (by_channel_) {
    if (!dynamic_)
      s.channel = stream % channels_.size();
    else if (s.joined == s.queue.size())
      s.channel = idlest_channel();
    channels_[s.channel].waiting.push_back(stream);
    channels_[s.channel].last_issued = operation.issued;
  }
  s.queue.push_back(operation);
  if (operation.ready > now)
    ready_[operation.copy].push(now, stream);
  else
    changed_.push_back(stream);
}

// One in which nothing waits, if there is one; of those, the one issued to longest ago.
std::size_t StreamQueues::idlest_channel() const {
  const auto rank = [](const Channel& c) { return std::tuple(!c.waiting.empty(), c.last_issued); };
  const auto best = std::min_element(channels_.begin(), channels_.end(),
                                     [&](const Channel& a, const Channel& b) { return rank(a) < rank(b); });
  return static_cast<std::size_t>(best - channels_.begin());
}

void StreamQueues::ended(std::uint32_t stream, JobId job, std::uint32_t place, bool copy, Time now) {
  DelayLine<Ended>& line = over_[copy];
  if (line.none())
    leave(stream, job, place);
  else
    line.push(now, {stream, job, place});
}

void StreamQueues::take_due(Time now) {
  for (auto& line : ready_) line.take(now, [&](std::uint32_t stream) { changed_.push_back(stream); });
  for (auto& line : over_)
    line.take(now, [&](const Ended& what) { leave(what.stream, what.job, what.place); });
}

void StreamQueues::leave(std::uint32_t stream, JobId job, std::uint32_t place) {
  Stream& s = streams_[stream];
  const auto gone = std::find_if(s.queue.begin(), s.queue.end(),
                                 [&](const Operation& o) { return o.job == job && o.place == place; });
  gone->left = true;
  while (!s.queue.empty() && s.queue.front().left) {
    s.queue.pop_front();
    --s.joined;
  }
  changed_.push_back(stream);
}

// What happened to a stream matters to others only through the NULL stream or a channel.
std::span<const std::uint32_t> StreamQueues::streams_to_look_at() {
  looked_at_.swap(changed_);
  changed_.clear();
  if (null_ || by_channel_) return all_;
  std::sort(looked_at_.begin(), looked_at_.end());
  looked_at_.erase(std::unique(looked_at_.begin(), looked_at_.end()), looked_at_.end());
  return looked_at_;
}

// The stream's first operation that has not joined a queue, if its place in the stream lets it.
Operation* StreamQueues::next_of(std::uint32_t stream) {
  Stream& s = streams_[stream];
  if (s.joined == s.queue.size()) return nullptr;
  Operation& next = s.queue[s.joined];
  const bool only_as_head = rules_.on(next.copy ? Rule::C1 : Rule::G2);
  return s.joined > 0 && only_as_head ? nullptr : &next;
}

std::optional<Rule> StreamQueues::obstacle(std::uint32_t stream, const Operation& operation) const {
  if (by_channel_ && channels_[streams_[stream].channel].waiting.front() != stream) return Rule::B1;
  return null_ ? null_obstacle(stream, operation) : std::nullopt;
}

std::optional<Rule> StreamQueues::null_obstacle(std::uint32_t stream, const Operation& operation) const {
  const auto issued_before = [&](const Stream& other) {
    return !other.queue.empty() && other.queue.front().issued < operation.issued;
  };
  if (stream == *null_) {
    if (!rules_.on(Rule::N1)) return std::nullopt;
    for (std::uint32_t other = 0; other < streams_.size(); ++other)
      if (other != stream && issued_before(streams_[other])) return Rule::N1;
    return std::nullopt;
  }
  if (rules_.on(Rule::N2) && issued_before(streams_[*null_])) return Rule::N2;
  return std::nullopt;
}

}  // namespace gangway
