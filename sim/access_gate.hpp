// Submissions under an access policy: clients hand their kernels to the device themselves, unless they are
// intercepted or denied; the device takes what was handed over first come, first served.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "models/policy.hpp"

namespace gangway {

class AccessGate {
 public:
  explicit AccessGate(std::size_t clients) : clients_(clients) {}
  void reset();

  // The client's next kernel is ready. The fact to tell, if the submission is intercepted.
  std::optional<Submitted> submit(ClientId client);
  std::optional<Submitted> set(ClientId client, Access access);
  void admit(RequestId request);

  // A drain was asked for. Drained is told as soon as nothing of the client is queued or runs.
  void drain(ClientId client, Time now) { clients_[client.index].drain = now; }
  std::optional<Drained> drained(ClientId client, Time now);

  // The next kernel's client to run on the free device.
  std::optional<ClientId> take();
  void ran(ClientId client) { clients_[client.index].on_device = false; }

 private:
  struct State {
    Access access = Access::direct;
    bool denied = false;     // a submission waits for access
    RequestId held;          // or for admission
    bool on_device = false;  // queued or running
    std::optional<Time> drain;
  };
  void enqueue(ClientId client);

  std::vector<State> clients_;
  std::deque<ClientId> queue_;
  std::uint64_t requests_ = 0;
};

}  // namespace gangway
