// Common to access policies (NEON, 3 and 6.3): which clients are present, who may have channels, and what
// happens to overlong requests.
#pragma once

#include <vector>

#include "models/policy.hpp"

namespace gangway {

class AccessPolicy : public Policy {
 public:
  Capabilities needs() const override { return {Capability::access, Capability::intercept}; }
  std::optional<Refusal> refusal(const Kernel& kernel, const Device& device) const override;
  void note(Time now, const Fact& fact, const View& view) final;
  void decide(Time now, const View& view, Orders& orders) final;

 protected:
  // Appends the parameters `channels` and `limit` to a policy's own.
  static std::vector<Parameter> with_protection(std::vector<Parameter> own);
  // The parameter `alone`, and whether it is `free`: who is alone is not held back, as nobody waits.
  static Parameter alone();
  static bool free_alone(const ParameterValues& values) { return values.choice("alone") == "free"; }
  explicit AccessPolicy(const ParameterValues& values);

  // All of these concern present clients only.
  virtual void begun(Time now, Orders& orders) = 0;                  // before anything happens
  virtual void heard(Time now, const Fact& fact) = 0;                // including Opens and Exited
  virtual void act(Time now, const View& view, Orders& orders) = 0;  // after the facts of an instant

  // In workload order, including clients whose Opens is of this instant.
  const std::vector<ClientId>& present() const { return present_; }
  bool is_present(ClientId client) const;
  bool one_is_present() const { return present_.size() == 1; }

 private:
  void protect(const Opens& opens, const View& view, Orders& orders);

  std::int64_t most_channels_;  // per client; 0: any number
  Duration limit_;              // of a request
  bool began_ = false;
  std::vector<ClientId> present_;
  std::vector<Opens> opening_;      // of this instant
  std::vector<ClientId> too_long_;  // of this instant: clients to kill
};

}  // namespace gangway
