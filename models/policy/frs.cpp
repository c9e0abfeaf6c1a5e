// Fair and responsive scheduler (FRS paper, IV-E): the kernel with the greatest instantaneous slowdown runs,
// until the one with the least would be slowed down as much.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class Frs : public OwnershipPolicy {
 public:
  explicit Frs(const ParameterValues& values)
      : OwnershipPolicy(Estimates(values)),
        minimum_(values.duration("minimum_quantum")),
        literal_(values.choice("denominator") == "done") {}

 private:
  // The terms of equations 1 and 2 for one job.
  struct Terms {
    std::int64_t t, left, total;
  };

  void prepare(std::size_t clients) override { slowdowns_.reserve(clients); }

  Choice choose(Time now, const View& view) override {
    slowdowns_.clear();
    for (const Waiting& w : candidates()) slowdowns_.push_back(slowdown(terms(now, view, w)));
    const auto slowdown_of = [&](const Waiting& w) {
      return slowdowns_[static_cast<std::size_t>(&w - candidates().data())];
    };
    const std::size_t most = least([&](const Waiting& w) { return -slowdown_of(w); });
    const Terms fastest = terms(now, view, candidates()[least(slowdown_of)]);
    return {most, quantum(slowdowns_[most], fastest)};
  }

  Duration renewed_quantum(Time now, const View& view, const Owner& owner) override {
    const Terms alone = terms(now, view, owner.waiting);
    return quantum(slowdown(alone), alone);
  }

  Terms terms(Time now, const View& view, const Waiting& w) const {
    const JobFacts& job = view.job(w.job);
    return {(now - w.arrived).ns, estimates_.left(job).ns, estimates_.total(job).ns};
  }

  // Equation 1. Its printed denominator, the time of the tasks done, contradicts equation 2, which follows
  // from the total.
  double slowdown(const Terms& x) const {
    const std::int64_t denominator = literal_ ? x.total - x.left : x.total;
    if (denominator <= 0) return std::numeric_limits<double>::infinity();
    return static_cast<double>(x.t + x.left) / static_cast<double>(denominator);
  }

  // Equation 2: after this long the fastest job's slowdown is what the chosen one's is now.
  Duration quantum(double greatest, const Terms& fastest) const {
    if (std::isinf(greatest)) return minimum_;
    const double ns = std::floor(greatest * static_cast<double>(fastest.total) -
                                 static_cast<double>(fastest.left) - static_cast<double>(fastest.t));
    constexpr double kLongest = 1e17;  // keeps the literal denominator's huge slowdowns inside the clock
    return std::max(minimum_, Duration{static_cast<std::int64_t>(std::clamp(ns, 0.0, kLongest))});
  }

  Duration minimum_;
  bool literal_;
  std::vector<double> slowdowns_;  // of those that wait, while one is chosen
};

const OwnershipRegistration<Frs> registered_frs{
    "frs",
    "fair and responsive scheduler: greatest instantaneous slowdown first",
    {{"minimum_quantum", "shortest quantum", Parameter::Time{1_ms, 1_us, 100_s}},
     {"denominator", "denominator of equation 1: the time of all tasks, or, as printed, of the tasks done",
      Parameter::Choice{{"total", "done"}}},
     Estimates::parameter()}};

}  // namespace
}  // namespace gangway
