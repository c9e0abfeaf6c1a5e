// A client's connection to the daemon: made at its first submission, watched by a helper thread.
#pragma once

#include <pthread.h>

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
  // unscheduled; likewise if the daemon does not answer, with one line on stderr.
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
  // After the loss of the daemon: waits until another one has taken this client. False if it refuses.
  bool returned();
  enum class Return { taken, nobody, refused };
  Return come_to(const char* path);

  Helped& helped_;
  Gate* gate_ = nullptr;
  Descriptor socket_, daemon_bell_, own_bell_, passing_, page_;  // `page_`: the client page's file
  Pages pages_;
  Welcome welcome_;  // from the daemon
};

}  // namespace gangway::live
