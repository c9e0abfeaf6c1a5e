// One client at a time holds a token, and only the holder may submit: time slices for whole clients.
#pragma once

#include <optional>
#include <vector>

#include "models/policy/access.hpp"

namespace gangway {

class TokenPolicy : public AccessPolicy {
 protected:
  // Parameters `slice` and `alone`, and those of AccessPolicy.
  static std::vector<Parameter> parameters();
  // `engaged`: every submission of the holder is intercepted and admitted.
  TokenPolicy(const ParameterValues& values, bool engaged);

  Duration slice() const { return slice_; }

  // The next holder, among the present clients (at least one).
  virtual ClientId next() = 0;
  virtual void opened(const Opens& opens) = 0;
  // The holder was denied at the end of its slice; `overrun` later nothing of it is on the device.
  virtual void gave_back(ClientId client, Duration held, Duration overrun) = 0;
  virtual void exited(ClientId client) = 0;

 private:
  void begun(Time, Orders&) override {}
  void heard(Time now, const Fact& fact) override;
  void act(Time now, const View& view, Orders& orders) override;
  void pass(Time now, Orders& orders);
  void begin_slice(Time now, Orders& orders);

  Duration slice_;
  bool free_alone_;
  Access holders_;
  std::optional<ClientId> holder_;
  Time since_;  // the begin of its slice
  bool draining_ = false;
  std::optional<TimerId> timer_;
  std::vector<ClientId> newcomers_;   // of this instant
  std::vector<RequestId> submitted_;  // likewise
  bool over_ = false;                 // of this instant: the slice is over
};

}  // namespace gangway
