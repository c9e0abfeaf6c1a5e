// Preemptive kernel model: kernels are cut into slices, and after each the most urgent kernel's next slice is
// launched. The slice is as large as a bound on the latency of that choice allows (EffiSha, 8.3).
#include <algorithm>

#include "models/policy/ownership.hpp"
#include "models/policy/slices.hpp"

namespace gangway {
namespace {

using namespace literals;

class Pkm : public OwnershipPolicy {
 public:
  explicit Pkm(const ParameterValues& values)
      : by_latency_(values.choice("slice") == "latency"),
        declared_(values.choice("slice") == "declared"),
        latency_(values.duration("latency")),
        blocks_(values.integer("block_tasks")) {}

  Capabilities needs() const override { return {Capability::ranges}; }

 private:
  Choice choose(Time, const View& view) override {
    return {least([&](const Waiting& w) { return -urgency(view, w); }), std::nullopt};
  }

  bool yields(const Owner& owner) const override { return owner.lingers; }
  std::int64_t urgency(const View& view, const Waiting& w) const override {
    return view.job(w.job).urgency();
  }
  std::int64_t owner_urgency(Time, const View& view, const Owner& owner) const override {
    return urgency(view, owner.waiting);
  }

  std::optional<BlockCount> slice(const JobFacts& job) const override {
    const KernelFacts& kernel = job.current();
    if (declared_ && kernel.slice) return *kernel.slice;
    if (!by_latency_) return BlockCount{blocks_};
    return waves_within(kernel, latency_);
  }

  bool by_latency_, declared_;
  Duration latency_;
  std::int64_t blocks_;
};

const OwnershipRegistration<Pkm> registered_pkm{
    "pkm",
    "kernel slicing: the most urgent kernel's next slice",
    {{"slice", "size of a slice: as the latency allows, a number of block-tasks, or as the workload declares",
      Parameter::Choice{{"latency", "block-tasks", "declared"}}},
     {"latency", "longest run of a slice; at least one wave of blocks", Parameter::Time{1_ms, 1_us, 100_s},
      Parameter::Only{"slice", {"latency"}}},
     {"block_tasks", "block-tasks of a slice, also for kernels that declare none",
      Parameter::Integer{1, 1, 1'000'000'000}, Parameter::Only{"slice", {"block-tasks", "declared"}}}}};

}  // namespace
}  // namespace gangway
