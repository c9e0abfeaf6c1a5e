// Passes the token in turn (NEON, 3.1 and 3.2), with control of overuse.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "models/policy/token.hpp"

namespace gangway {

class TokenTurns : public TokenPolicy {
 protected:
  using TokenPolicy::TokenPolicy;

 private:
  void opened(const Opens&) override {}
  void gave_back(ClientId client, Duration, Duration overrun) override { overuse(client) += overrun; }
  void exited(ClientId client) override { overuse(client) = {}; }

  // A client that has overused a whole slice is skipped once for it.
  ClientId next() override {
    for (last_ = after(); overuse(*last_) > slice(); last_ = after())
      overuse(*last_) = overuse(*last_) - slice();
    return *last_;
  }

  // In workload order.
  ClientId after() const {
    const auto later =
        last_ ? std::upper_bound(present().begin(), present().end(), *last_) : present().begin();
    return later != present().end() ? *later : present().front();
  }

  Duration& overuse(ClientId client) {
    if (client.index >= overuse_.size()) overuse_.resize(client.index + 1);
    return overuse_[client.index];
  }

  std::vector<Duration> overuse_;  // by client
  std::optional<ClientId> last_;   // previous holder
};

}  // namespace gangway
