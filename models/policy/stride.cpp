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
    wanted_.resize(clients);
  }

  // Who waited or had a GPU at the last decision has not been idle since.
  void consider(const View& view) override {
    ++decision_;
    for (const Waiting& w : waiting()) {
      const ClientId client = w.job.client;
      const double weight = view.job(w.job).weight;
      wants(client) == decision_ - 1 ? passes_.stay(client, weight) : passes_.join(client, weight);
      wants(client) = decision_;
    }
    for (std::uint32_t gpu = 0; gpu < view.gpus(); ++gpu)
      if (const Owner* owner = owner_of({gpu})) wants(owner->waiting.job.client) = decision_;
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
  void stopped_lingering(Time now, const Owner& owner) override { charge(now, owner); }

  // For the time since its turn began, or since it was last charged: a GPU that it holds idle is no other's.
  void charge(Time now, const Owner& owner) {
    const ClientId client = owner.waiting.job.client;
    if (owner.turn_began) {
      Time& charged = charged_[client.index];
      const Time since = std::max(*owner.turn_began, charged);
      passes_.charge(client, now - since);
      charged = now;
    }
    double least = pass(owner.waiting);
    for (const Waiting& w : waiting()) least = std::min(least, pass(w));
    passes_.reach(least);
  }

  double pass(const Waiting& w) const { return passes_.of(w.job.client); }

  std::uint64_t& wants(ClientId client) {
    if (wanted_.size() <= client.index) wanted_.resize(client.index + 1);
    return wanted_[client.index];
  }

  Duration quantum_;
  Passes passes_;
  std::vector<Time> charged_;          // by client: until when
  std::vector<std::uint64_t> wanted_;  // by client: the latest decision at which it waited or had a GPU
  std::uint64_t decision_ = 1;
};

const OwnershipRegistration<StrideScheduling> registered_stride{
    "stride",
    "stride scheduling: shares of the GPU in proportion to weights",
    {{"quantum", "time a kernel may own the GPU before passes are compared",
      Parameter::Time{1_ms, 1_us, 100_s}}}};

}  // namespace
}  // namespace gangway
