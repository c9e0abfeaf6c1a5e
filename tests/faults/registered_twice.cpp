// For the program `gangway_twice`, which tests/cli calls: a policy under a name that another one has.
#include "models/policy.hpp"

namespace gangway::testing {
namespace {

class Second : public Policy {
 public:
  explicit Second(const ParameterValues&) {}
  Capabilities needs() const override { return {}; }
  void note(Time, const Fact&, const View&) override {}
  void decide(Time, const View&, Orders&) override {}
};

const PolicyRegistration<Second> registered{"rr", "a second of this name", {}};

}  // namespace
}  // namespace gangway::testing
