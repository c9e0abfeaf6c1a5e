#include "experiments/observed/observed_responses.hpp"

#include <fmt/format.h>

#include "experiments/observed/played_set.hpp"

namespace gangway {

ObservedResponses observe_responses(const TaskSet& set, const ObserveOptions& options,
                                    const std::atomic<bool>& stop) {
  if (std::holds_alternative<OwningTasks>(set.tasks)) return observe_owners(set, options, stop);
  if (std::holds_alternative<SporadicTasks>(set.tasks)) return observe_queue(set, options, stop);
  refuse_set(*options.world, "streams", "kernels submitted once", "tasks that release jobs repeatedly");
}

Rational nanoseconds(const TaskSet& set, const Rational& time) { return time * SetClock(set).scale(); }

Judgement judge(const TaskSet& set, const BoundReport& bounds, const ObservedResponses& seen) {
  Judgement out;
  for (std::size_t i = 0; i < seen.tasks.size(); ++i) {
    out.ratios.emplace_back();
    const Rational* tightest = bounds.tightest(i);
    if (!seen.tasks[i] || tightest == nullptr) continue;
    const Rational response(seen.tasks[i]->response.ns);
    out.ratios.back() = (response / nanoseconds(set, *tightest)).number();
    for (const AppliedBound& applied : bounds.bounds) {
      const auto* bound = std::get_if<Rational>(&applied.result.tasks[i]);
      if (bound == nullptr || response <= nanoseconds(set, *bound) || !out.violated.empty()) continue;
      out.violated = fmt::format("a response of {} was {}, above the {:.6g} ns of {} with costs ({}, job {})",
                                 bounds.tasks[i].name, to_text(seen.tasks[i]->response),
                                 nanoseconds(set, *bound).number(), applied.bound->name,
                                 seen.tasks[i]->pattern, seen.tasks[i]->job);
    }
  }
  const Assumption* worst = nullptr;
  for (const Assumption& a : seen.assumptions.all())
    if (!a.held() && (worst == nullptr || a.measured - a.allowed > worst->measured - worst->allowed))
      worst = &a;
  if (worst != nullptr)
    out.unmet =
        fmt::format("assumption '{}' did not hold of {}: measured {} against {}", worst->name, worst->task,
                    to_text(Duration{worst->measured}), to_text(Duration{worst->allowed}));
  return out;
}

}  // namespace gangway
