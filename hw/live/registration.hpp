// A client's connection to the daemon: made at its first submission, watched by a thread of its own.
#pragma once

#include <pthread.h>

#include "hw/live/gate.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

// Called in the helper thread before anything else.
class Helped {
 public:
  virtual ~Helped() = default;
  virtual void helper_begins() = 0;
};

class Registration : public Source {
 public:
  constexpr explicit Registration(Helped& helped) : helped_(helped) {}
  void watch_for(Gate& gate) { gate_ = &gate; }

  // From the environment that `gangway exec` left: GANGWAY_SOCKET, GANGWAY_PROGRAM. Without it, or where the
  // daemon does not answer (which one line on stderr tells), the process is scheduled by nobody.
  Pages open() override;
  void ring() override;
  void forked();  // in the child

 private:
  static void* helper(void* self);
  void help();
  bool hung_up() const;
  Pages alone();
  Pages refused(const char* what, const char* why);
  // The daemon is gone: until another one has taken this client. False: it refuses to.
  bool returned();
  enum class Return { taken, nobody, refused };
  Return come_to(const char* path);

  Helped& helped_;
  Gate* gate_ = nullptr;
  Descriptor socket_, daemon_bell_, own_bell_, page_;  // the last: its memory
  Pages pages_;
  Welcome welcome_;  // the daemon's
};

}  // namespace gangway::live
