// Priority-based immediate eviction (EffiSha, 7): the most urgent kernel runs, and a more urgent one
// displaces it at once. The paper does not say where an evicted kernel waits.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Piv : public OwnershipPolicy {
 public:
  explicit Piv(const ParameterValues& values) : to_the_tail_(values.choice("evicted") == "tail") {}

 private:
  Choice choose(Time, const View& view) override {
    const auto behind = [&](const Waiting& w) {
      return std::pair(-priority(view, w), to_the_tail_ ? w.since : w.arrived);
    };
    return {least(behind), std::nullopt};
  }

  bool yields(const Owner&) const override { return true; }
  std::int64_t urgency(const View& view, const Waiting& w) const override { return priority(view, w); }
  std::int64_t owner_urgency(Time, const View& view, const Owner& owner) const override {
    return priority(view, owner.waiting);
  }

  static std::int64_t priority(const View& view, const Waiting& w) { return view.job(w.job).urgency(); }

  bool to_the_tail_;
};

const OwnershipRegistration<Piv> registered_piv{
    "piv",
    "priority-based immediate eviction: the most urgent kernel runs",
    {{"evicted", "where an evicted kernel waits among those of its priority: in its former place, or last",
      Parameter::Choice{{"place", "tail"}}}}};

}  // namespace
}  // namespace gangway
