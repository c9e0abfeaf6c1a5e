// What the process for checkpoints answers, and its end.
#include <fmt/format.h>
#include <sys/epoll.h>

#include "hw/live/daemon.hpp"

namespace gangway::live {

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
  if (settings_.checkpoints->gone()) start_checkpoints_again();
}

void Daemon::start_checkpoints_again() {
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, settings_.checkpoints->socket(), nullptr);
  say("the process for checkpoints is gone; another one starts");
  try {
    const auto fresh = std::make_shared<CheckpointHelper>(settings_.socket);
    watch(fresh->socket());
    for (auto& [socket, client] : clients_)
      if (client->checkpoints() != nullptr) client->helper_lost(*fresh);
    settings_.checkpoints = fresh;
  } catch (const RunError& error) {
    say(error.what());
  }
}

}  // namespace gangway::live
