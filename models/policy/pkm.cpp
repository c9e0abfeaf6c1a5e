// Preemptive kernel model: kernels are cut into slices, and after each the most urgent kernel's next slice is
// launched. The slice is as large as a bound on the latency of that choice allows (EffiSha, 8.3).
#include <algorithm>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class Pkm : public OwnershipPolicy {
 public:
  explicit Pkm(const ParameterValues& values)
      : by_latency_(values.choice("slice") == "latency"),
        latency_(values.duration("latency")),
        blocks_(values.integer("block_tasks")) {}

  Capabilities needs() const override { return {Capability::ranges}; }

 private:
  Choice choose(Time, const View& view) override {
    const std::size_t next =
        least([&](const Waiting& w) { return -std::int64_t{view.job(w.job).current().priority}; });
    return {next, std::nullopt, slice_of(view.job(waiting()[next].job).current())};
  }

  // Whole waves of blocks, as a part of one takes as long as all of it.
  BlockCount slice_of(const KernelFacts& kernel) const {
    if (!by_latency_) return {blocks_};
    const std::int64_t wave = std::max<std::int64_t>(1, kernel.resident.count);
    const std::int64_t waves = (kernel.block_tasks.count + wave - 1) / wave;
    const std::int64_t in_time =
        mul_div_floor(latency_.ns, waves, std::max<std::int64_t>(1, kernel.declared.ns));
    return {wave * std::clamp<std::int64_t>(in_time, 1, waves)};
  }

  bool by_latency_;
  Duration latency_;
  std::int64_t blocks_;
};

const PolicyRegistration<Pkm> registered{
    "pkm",
    "kernel slicing: the most urgent kernel's next slice",
    {{"slice", "how large: as the latency allows, or so many block-tasks",
      Parameter::Choice{{"latency", "block-tasks"}}},
     {"latency", "how long a slice may run, but at least one wave of blocks",
      Parameter::Time{1_ms, 1_us, 100_s}},
     {"block_tasks", "of one slice", Parameter::Integer{1, 1, 1'000'000'000}}}};

}  // namespace
}  // namespace gangway
