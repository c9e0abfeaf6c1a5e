#include "sim/blocks/context_turns.hpp"

#include <algorithm>
#include <map>

namespace gangway {

std::vector<std::uint32_t> contexts_of(std::span<const Client> clients, const Device& device) {
  std::vector<std::uint32_t> contexts;
  std::map<std::string, std::uint32_t> by_name, by_stream;
  std::uint32_t count = 0;
  for (const Client& client : clients) {
    if (device.arbitration != Arbitration::timeslice || !device.rules.on(Rule::T1)) {
      contexts.push_back(0);
      continue;
    }
    auto& known = client.context.empty() ? by_stream : by_name;
    const std::string& name = client.context.empty() ? client.stream : client.context;
    const auto found = name.empty() ? known.end() : known.find(name);
    contexts.push_back(found != known.end() ? found->second : count++);
    if (!name.empty()) known.emplace(name, contexts.back());
  }
  return contexts;
}

void ContextTurns::reset() {
  active_ = by_waiting() ? 0 : contexts_ - 1;  // created last, it is on the device before the run
  successor_.reset();
  in_ring_.begin_turn();
  std::fill(waits_since_.begin(), waits_since_.end(), std::nullopt);
  used_ = !by_waiting();
  renews_ = expired_ = open_ = false;
  idle_ = true;
  from_ = until_ = {};
  alarmed_.reset();
}

void ContextTurns::begin(Time now, std::size_t context) {
  from_ = used_ && context != active_ ? now + slice_.context_switch : now;
  until_ = from_ + slice_.length;
  active_ = context;
  successor_.reset();
  in_ring_.begin_turn();
  used_ = true;
  renews_ = expired_ = false;
}

void ContextTurns::wake_at(Time time) {
  if (alarmed_ == time) return;
  alarmed_ = time;
  alarm_.events.push(time, alarm_.event_id);
}

}  // namespace gangway
