// No scheduling, but every submission traps to the operating system: what most stacks cost that control the
// device (NEON, 3).
#include "models/policy/access.hpp"

namespace gangway {
namespace {

class TrapPerRequest : public AccessPolicy {
 public:
  explicit TrapPerRequest(const ParameterValues& values) : AccessPolicy(values) {}
  static std::vector<Parameter> parameters() { return with_protection({}); }

 private:
  void begun(Time, Orders&) override {}
  void heard(Time, const Fact& fact) override {
    if (const auto* opens = std::get_if<Opens>(&fact)) newcomers_.push_back(opens->client);
    if (const auto* submitted = std::get_if<Submitted>(&fact)) submitted_.push_back(submitted->request);
  }
  void act(Time, const View&, Orders& orders) override {
    for (const ClientId client : newcomers_) orders.access(client, Access::intercept);
    for (const RequestId request : submitted_) orders.admit(request);
    newcomers_.clear();
    submitted_.clear();
  }

  std::vector<ClientId> newcomers_;
  std::vector<RequestId> submitted_;
};

const PolicyRegistration<TrapPerRequest> registered_trap_per_request{
    "trap-per-request", "every submission is intercepted and let through", TrapPerRequest::parameters()};

}  // namespace
}  // namespace gangway
