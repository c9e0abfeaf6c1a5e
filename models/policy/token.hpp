// A token goes round, and only its holder may submit (NEON, 3.1 and 3.2): time slices with control of
// overuse.
#pragma once

#include <optional>
#include <vector>

#include "models/policy/access.hpp"

namespace gangway {

class TokenPolicy : public AccessPolicy {
 protected:
  // Parameter `slice`, and those of AccessPolicy.
  static std::vector<Parameter> parameters();
  // `engaged`: every submission of the holder is intercepted, and admitted.
  TokenPolicy(const ParameterValues& values, bool engaged);

 private:
  void begun(Time, Orders&) override {}
  void heard(Time now, const Fact& fact) override;
  void act(Time now, const View& view, Orders& orders) override;

  Duration& overuse(ClientId client);
  void pass(Time now, Orders& orders);
  ClientId next() const;

  Duration slice_;
  Access holders_;
  std::vector<Duration> overuse_;  // by client
  std::optional<ClientId> holder_;
  std::optional<ClientId> last_;  // who had the token
  bool draining_ = false;
  std::optional<TimerId> timer_;
  std::vector<ClientId> newcomers_;   // of this instant
  std::vector<RequestId> submitted_;  // likewise
  bool over_ = false;                 // likewise: the slice
};

}  // namespace gangway
