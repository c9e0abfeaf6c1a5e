#include "models/policy/estimates.hpp"
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class LongestFirst : public OwnershipPolicy {
 public:
  explicit LongestFirst(const ParameterValues&) {}

 private:
  Choice choose(Time, const View& view) override {
    return {least([&](const Waiting& w) { return -estimates_.total(view.job(w.job)).ns; }), std::nullopt};
  }
};

const OwnershipRegistration<LongestFirst> registered_ljf{"ljf", "longest job first", {}};

}  // namespace
}  // namespace gangway
