// Stride scheduling: clients share the GPU in proportion to their weights, in quanta.
#include <algorithm>
#include <utility>

#include "models/policy/ownership.hpp"
#include "models/policy/passes.hpp"

namespace gangway {
namespace {

using namespace literals;

class StrideScheduling : public OwnershipPolicy {
 public:
  explicit StrideScheduling(const ParameterValues& values) : quantum_(values.duration("quantum")) {}

 private:
  void prepare(std::size_t clients) override {
    passes_.prepare(clients);
    charged_.resize(clients);
  }

  void consider(const View& view) override {
    for (const Waiting& w : waiting()) passes_.join(w.job.client, view.job(w.job).weight);
  }

  // Of equal passes, who has waited in the queue longest.
  Choice choose(Time, const View&) override {
    return {least([&](const Waiting& w) { return std::pair(pass(w), w.place); }), quantum_};
  }

  bool keeps(Time now, const View& view, const Owner& owner, DeviceId gpu) override {
    charge(now, owner);
    const auto first = [&](const Waiting& w) {
      return !w.provided && view.job(w.job).gpus.has(gpu) && pass(w) <= pass(owner.waiting);
    };
    return std::none_of(waiting().begin(), waiting().end(), first);
  }

  Duration renewed_quantum(Time now, const View&, const Owner& owner) override {
    charge(now, owner);
    return quantum_;
  }

  void left(Time now, const Owner& owner, BlockCount) override { charge(now, owner); }

  // For the time since the launch started, or since it was last charged.
  void charge(Time now, const Owner& owner) {
    const ClientId client = owner.waiting.job.client;
    if (owner.started) {
      Time& charged = charged_[client.index];
      const Time since = std::max(*owner.started, charged);
      passes_.charge(client, now - since);
      charged = now;
    }
    double least = pass(owner.waiting);
    for (const Waiting& w : waiting()) least = std::min(least, pass(w));
    passes_.reach(least);
  }

  double pass(const Waiting& w) const { return passes_.of(w.job.client); }

  Duration quantum_;
  Passes passes_;
  std::vector<Time> charged_;  // by client: until when
};

const OwnershipRegistration<StrideScheduling> registered_stride{
    "stride",
    "stride scheduling: shares of the GPU in proportion to weights",
    {{"quantum", "time a kernel may own the GPU before passes are compared",
      Parameter::Time{1_ms, 1_us, 100_s}}}};

}  // namespace
}  // namespace gangway
