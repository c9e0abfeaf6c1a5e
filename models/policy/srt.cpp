// Shortest remaining time, preemptive (FRS paper, IV-B): remaining times of all kernels of the application.
// The paper leaves open whether the running kernel's is kept up to date.
#include <algorithm>

#include "models/policy/estimates.hpp"
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

class Srt : public OwnershipPolicy {
 public:
  explicit Srt(const ParameterValues& values)
      : fresh_(values.choice("remaining") == "fresh"), estimates_(values) {}

 private:
  Choice choose(Time, const View& view) override { return {shortest(view), std::nullopt}; }

  bool displaced(Time now, const View& view) override {
    Duration mine = estimates_.left(view.job(owner().waiting.job));
    if (fresh_ && owner().started) mine = std::max(Duration{}, mine - (now - *owner().started));
    return estimates_.left(view.job(waiting()[shortest(view)].job)) < mine;
  }

  void left(Time now, BlockCount tasks) override {
    if (owner().started)
      estimates_.saw(owner().waiting.job.client, owner().kernel, now - *owner().started, tasks);
  }

  std::size_t shortest(const View& view) const {
    return least([&](const Waiting& w) { return estimates_.left(view.job(w.job)); });
  }

  bool fresh_;
  Estimates estimates_;
};

const OwnershipRegistration<Srt> registered{
    "srt",
    "shortest remaining time, preemptive",
    {{"remaining", "the owner's remaining time: up to date, or as of its last launch",
      Parameter::Choice{{"fresh", "stale"}}},
     Estimates::parameter()}};

}  // namespace
}  // namespace gangway
