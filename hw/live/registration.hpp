// A client's connection to the daemon: made at its first submission, watched by a helper thread.
#pragma once

#include <pthread.h>
#include <sys/un.h>

#include "hw/live/gate.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

// What runs in the helper thread before anything else.
class Helped {
 public:
  virtual ~Helped() = default;
  virtual void helper_begins() = 0;
};

class Registration : public Source {
 public:
  constexpr explicit Registration(Helped& helped) : helped_(helped) {}
  void watch_for(Gate& gate) { gate_ = &gate; }

  // Uses the environment from `gangway exec`: GANGWAY_SOCKET, GANGWAY_PROGRAM. Without it the process is
  // unscheduled; likewise, with one line on stderr, if there is no daemon or it refuses, and as long as it
  // does not answer.
  Pages open() override;
  void ring() override;
  int passing() const override { return passing_.get(); }
  void forked();  // in the child

 private:
  static void* helper(void* self);
  void help();
  bool looks_on();
  bool hung_up() const;
  Pages alone();
  Pages refused(const char* what, const char* why);
  Pages unanswered(const char* path, const Hello& hello);
  int begin_helper();  // 0, or why not
  // After the loss of the daemon.
  bool returned();
  // Waits until a daemon has taken this client. False if it refuses.
  bool finds_daemon();
  enum class Return { taken, nobody, refused };
  Return come_to(const char* path);

  Helped& helped_;
  Gate* gate_ = nullptr;
  Descriptor socket_, daemon_bell_, own_bell_, passing_, page_;  // `page_`: the client page's file
  Pages pages_;
  Welcome welcome_;  // from the daemon
  char socket_path_[sizeof(sockaddr_un::sun_path)] = {};
};

}  // namespace gangway::live
