#include "hw/live/live_session.hpp"

#include <fmt/format.h>

#include <utility>

#include "hw/live/live_run.hpp"
#include "hw/live/runtime_folder.hpp"

namespace gangway::live {

// Who holds more than fits with the others has to be able to leave between its jobs.
std::shared_ptr<Policy> LiveSession::between_runs() const {
  const PolicyEntry& entry = Policies::named(moves_memory_ ? "fcfs" : "passthrough", "live", "policy");
  const Node none = parse_yaml("{}", "live");
  return entry.make(ParameterValues(entry.parameters, Field(none, entry.name)));
}

LiveSession::LiveSession(const MemorySettings& memory, const std::vector<GpuFacts>& gpus, Placing placing)
    : folder_(own_folder() + "/run."),
      moves_memory_(memory.managed),
      most_memory_(memory.most),
      gpus_(gpus),
      placing_(placing) {
  DaemonSettings settings;
  settings.gpus = gpus;
  settings.memory = memory;
  settings.socket = folder_.path() + "/socket";
  settings.out = nullptr;
  daemon_ = std::make_unique<Daemon>("live", between_runs(), settings, this);
  programs_ = std::make_unique<LivePrograms>(settings.socket, folder_.path());
}

LiveSession::~LiveSession() {
  open_to_all();
  programs_.reset();
  daemon_.reset();
}

void LiveSession::came(LiveClient& client) {
  const auto member = members_.find(client.name());
  if (member == members_.end()) return;
  if (member->second.client != nullptr) {
    further_ = client.name();
    return;
  }
  member->second.client = &client;
  if (!member->second.warming) client.hold();
}

void LiveSession::left(const LiveClient& client) {
  for (auto& [name, member] : members_)
    if (member.client == &client) {
      if (run_ != nullptr) run_->left(client, member);
      member.client = nullptr;
    }
}

void LiveSession::step(Time now, Step step, ClientId client) {
  if (run_ == nullptr) return;
  for (auto& [name, member] : members_)
    if (member.client != nullptr && member.client->id == client) run_->step(now, step, member);
}

void LiveSession::hold_all() {
  for (auto& [name, member] : members_)
    if (member.client != nullptr) member.client->hold();
}

void LiveSession::turn() {
  daemon_->turn(Duration{2'000'000});
  const std::string name = std::exchange(further_, {});
  if (name.empty()) return;
  programs_->end(name);  // or the next run would have both, and nobody would say so
  throw RunError(name +
                 ": a second process of its program uses the GPU; a client is one process in the world live");
}

void LiveSession::open_to_all() { daemon_->play("live", between_runs(), {}); }

void LiveSession::fail(const std::string& name, const LivePrograms::End& end, const std::string& when) {
  throw RunError(fmt::format("{}: its program ended with {} {}{}", name, end.how, when,
                             end.last.empty() ? std::string() : "; its last line: " + end.last));
}

LiveSession::Played LiveSession::play(const Play& play) {
  static const std::atomic<bool> go_on{false};
  share(play.setup, go_on);
  warm_up(play.setup.workload, go_on);  // whoever has ended in the run before
  Run run(*this, play);
  const auto leave = [&] {
    run_ = nullptr;
    hold_all();
    open_to_all();
  };
  try {
    Played played = run.play();
    leave();
    settle(play.setup.workload, play.setup.watchdog);
    return played;
  } catch (...) {
    leave();
    settle(play.setup.workload, play.setup.watchdog);
    throw;
  }
}

}  // namespace gangway::live
