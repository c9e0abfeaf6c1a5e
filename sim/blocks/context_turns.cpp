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
  active_ = 0;
  line_.clear();
  used_ = contested_ = open_ = false;
  idle_ = true;
  from_ = until_ = {};
  alarmed_.reset();
}

bool ContextTurns::in_line(std::size_t context) const {
  return std::any_of(line_.begin(), line_.end(), [&](const Waiting& w) { return w.context == context; });
}

void ContextTurns::join_line(Time now, std::size_t context) {
  const auto place = std::find_if(line_.begin(), line_.end(), [&](const Waiting& w) {
    return std::pair(now, context) < std::pair(w.since, w.context);
  });
  line_.insert(place, {now, context});
}

void ContextTurns::begin(Time now, std::size_t context) {
  from_ = used_ && context != active_ ? now + slice_.context_switch : now;
  until_ = from_ + slice_.length;
  active_ = context;
  std::erase_if(line_, [&](const Waiting& w) { return w.context == context; });
  used_ = true;
}

// Who is alone has one slice after the other; the last of those that are over is over now.
void ContextTurns::pass(Time now) {
  if (now > until_) until_ = until_ + Duration{(now - until_).ns / slice_.length.ns * slice_.length.ns};
  if (now > until_) until_ = until_ + slice_.length;
}

void ContextTurns::wake_at(Time time) {
  if (alarmed_ == time) return;
  alarmed_ = time;
  alarm_.events.push(time, alarm_.event_id);
}

}  // namespace gangway
