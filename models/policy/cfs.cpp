// Completely fair scheduler (FRS paper, IV-D): an epoch shared evenly, in order of waiting time. Whether the
// order is made once a round or after every quantum is open; `cumulative` comes nearer to the published
// values.
#include <algorithm>
#include <tuple>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class Cfs : public OwnershipPolicy {
 public:
  explicit Cfs(const ParameterValues& values)
      : epoch_(values.duration("epoch")), rounds_(values.choice("order") == "rounds") {}

 private:
  Choice choose(Time now, const View&) override { return rounds_ ? next_of_round() : longest_waiting(now); }
  Duration renewed_quantum(Time, const View&, const Owner&) override { return epoch_; }

  void prepare(std::size_t clients) override { round_.reserve(clients); }

  // The first of the round's list that may use a free GPU; a round begins when there is none.
  Choice next_of_round() {
    if (const auto next = take_from_list()) return {*next, quantum_};
    begin_round();
    return {*take_from_list(), quantum_};
  }

  std::optional<std::size_t> take_from_list() {
    const std::vector<Waiting>& all = candidates();
    for (auto next = round_.begin(); next != round_.end(); ++next) {
      const auto place =
          std::find_if(all.begin(), all.end(), [&](const Waiting& w) { return w.job == next->job; });
      if (place == all.end()) continue;
      round_.erase(next);
      return static_cast<std::size_t>(place - all.begin());
    }
    return std::nullopt;
  }

  void begin_round() {
    round_ = waiting();
    std::sort(round_.begin(), round_.end(), [](const Waiting& a, const Waiting& b) {
      return std::tie(a.since, a.arrived, a.job.client) < std::tie(b.since, b.arrived, b.job.client);
    });
    quantum_ = share(round_.size());
  }

  Choice longest_waiting(Time now) const {
    const auto waited = [&](const Waiting& w) { return w.waited + (now - w.since); };
    return {least([&](const Waiting& w) { return -waited(w).ns; }), share(candidates().size())};
  }

  Duration share(std::size_t active) const {
    return std::max(Duration{1'000}, Duration{epoch_.ns / static_cast<std::int64_t>(active)});
  }

  Duration epoch_;
  bool rounds_;
  std::vector<Waiting> round_;  // who has not been chosen in it yet
  Duration quantum_;
};

const OwnershipRegistration<Cfs> registered_cfs{
    "cfs",
    "completely fair scheduler: an epoch shared equally, longest waiting first",
    {{"epoch", "time shared by the active kernels", Parameter::Time{4_ms, 1_us, 100_s}},
     {"order", "by waiting time once per round, or by cumulative waiting time after every quantum",
      Parameter::Choice{{"rounds", "cumulative"}}}}};

}  // namespace
}  // namespace gangway
