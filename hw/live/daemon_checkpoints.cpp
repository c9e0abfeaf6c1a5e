// What the process for checkpoints answers, and its end.
#include <fmt/format.h>
#include <sys/epoll.h>

#include "hw/live/daemon.hpp"

namespace gangway::live {
namespace {

constexpr Duration kBetweenStarts{500'000'000}, kMostStarts{3'000'000'000}, kBetweenLocks{5'000'000};

}  // namespace

void Daemon::hear_of_checkpoints() {
  CheckpointAnswer answer;
  while (settings_.checkpoints->receive(answer))
    for (auto& [socket, client] : clients_) {
      if (client->process() != answer.order.process || client->checkpoints() == nullptr) continue;
      const bool could = !client->checkpoints()->hopeless();
      client->checkpointed(answer);
      if (could && client->checkpoints()->hopeless())
        say(fmt::format("{} ({}): its memory stays on the GPU: the driver's error {} at its checkpoint",
                        client->name(), client->process(), answer.error));
    }
  if (settings_.checkpoints->ready() && helper_lost_) {  // another one is there
    helper_lost_.reset();
    for (auto& [socket, client] : clients_) client->helper_lost(*settings_.checkpoints);
  }
  if (!settings_.checkpoints->gone()) return;
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, settings_.checkpoints->socket(), nullptr);
  if (!settings_.checkpoints->ready()) return did_not_start(settings_.checkpoints->why_not());
  say("the process for checkpoints is gone; another one starts");
  helper_lost_ = now();
  helper_tried_.reset();
  start_checkpoints_again();
}

// An earlier daemon has made them: the client's memory may be away, and nothing else moves it.
void Daemon::start_checkpoints_for(const LiveClient& client) {
  if (settings_.checkpoints || no_checkpoints_) return;
  try {
    settings_.checkpoints = std::make_shared<CheckpointHelper>(settings_.socket);
    watch(settings_.checkpoints->socket());
  } catch (const RunError& error) {
    no_checkpoints_ = true;
    say_stays(client, error.what());
  }
}

void Daemon::say_stays(const LiveClient& client, const std::string& why) {
  say(fmt::format("{} ({}): its memory may be away, and cannot be brought back: {}", client.name(),
                  client.process(), why));
}

// The daemon waits for neither: an earlier one's process takes seconds for each state, and the driver to
// start.
bool Daemon::may_checkpoint() {
  if (settings_.checkpoints->gone() || !settings_.checkpoints->ready()) return false;
  if (locked_ || now() < lock_again_) return locked_;
  restoring_ = lock_for_restoring(settings_.socket, false);
  locked_ = restoring_ || errno != EWOULDBLOCK;
  lock_again_ = now() + kBetweenLocks;
  return locked_;
}

void Daemon::did_not_start(const std::string& why) {
  helper_tried_ = now();
  if (helper_lost_) {
    if (*helper_tried_ - *helper_lost_ > kMostStarts) give_up_checkpoints(why);
    return;
  }
  no_checkpoints_ = true;
  for (auto& [socket, client] : clients_) {
    if (client->checkpoints() != nullptr) say_stays(*client, why);
    client->helper_given_up();
  }
}

void Daemon::start_checkpoints_again() {
  if (!settings_.checkpoints->gone()) return;  // it starts
  if (helper_tried_ && now() - *helper_tried_ < kBetweenStarts) return;
  try {
    const auto fresh = std::make_shared<CheckpointHelper>(settings_.socket);
    watch(fresh->socket());
    settings_.checkpoints = fresh;
  } catch (const RunError& error) {
    did_not_start(error.what());
  }
}

// Who is on its GPU goes on there. A process that is not cannot go on, as it is locked, and nobody else can
// bring its state back.
void Daemon::give_up_checkpoints(const std::string& why) {
  helper_lost_.reset();
  no_checkpoints_ = true;
  restoring_.reset();  // an earlier daemon's process may restore what it has taken away
  say(why + "; no more checkpoints, so memory stays where it is");
  for (auto& [socket, client] : clients_) {
    client->helper_lost(*settings_.checkpoints);  // what it knows is gone
    if (client->helper_given_up()) continue;
    say_killed(*client, fmt::format("its state had left GPU {} and nothing can bring it back",
                                    gpus_[client->gpu]->facts.number));
    log(now(), "killed", fmt::format("{},{}", std::uint32_t{client->id.index}, client->name()), 0,
        client->gpu);
    forget_move(*client);
    client->kill();
  }
}

}  // namespace gangway::live
