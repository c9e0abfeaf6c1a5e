// Priority-based immediate eviction (EffiSha, 7): the most urgent kernel runs, and a more urgent one
// displaces it at once. The paper does not say where an evicted kernel waits.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Piv : public OwnershipPolicy {
 public:
  explicit Piv(const ParameterValues& values) : to_the_tail_(values.choice("evicted") == "tail") {}

 private:
  Choice choose(Time, const View& view) override { return {most_urgent(view), std::nullopt}; }

  bool displaced(Time, const View& view) override {
    return urgency(view, waiting()[most_urgent(view)]) > urgency(view, owner().waiting);
  }

  std::size_t most_urgent(const View& view) const {
    return least(
        [&](const Waiting& w) { return std::pair(-urgency(view, w), to_the_tail_ ? w.since : w.arrived); });
  }

  static std::int64_t urgency(const View& view, const Waiting& w) {
    return view.job(w.job).current().priority;
  }

  bool to_the_tail_;
};

const OwnershipRegistration<Piv> registered{
    "piv",
    "priority-based immediate eviction: the most urgent kernel runs",
    {{"evicted", "where an evicted kernel waits among those of its priority: where it was, or behind them",
      Parameter::Choice{{"place", "tail"}}}}};

}  // namespace
}  // namespace gangway
