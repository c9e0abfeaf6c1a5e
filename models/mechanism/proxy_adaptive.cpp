// The proxy with adaptive checking (EffiSha, 6.3): a block looks at the flag every k block-tasks, k from the
// length L of a scheduler's time slice and the length l of a block-task, which is taken from the kernel's
// first ones. The paper prints k = r * L / l, but explains r as several checks per time slice, which is L /
// (r * l); with its L and r = 10 the printed form would see the flag after ten time slices.
#include <algorithm>
#include <cmath>

#include "models/mechanism/polling.hpp"

namespace gangway {
namespace {

using namespace literals;

class ProxyAdaptive : public ProxyMechanism {
 public:
  explicit ProxyAdaptive(const ParameterValues& values)
      : ProxyMechanism(values),
        r_(values.integer("r")),
        slice_(values.duration("L")),
        as_printed_(values.choice("interval") == "as-printed"),
        first_(values.number("first_block_task")) {}

 protected:
  std::int64_t checked_every(const Kernel& kernel, const Device& device) const override {
    const std::int64_t sampled =
        std::max<std::int64_t>(1, scaled_nearest(block_task_length(kernel, device), first_).ns);
    const std::int64_t k = as_printed_ ? mul_div_floor(slice_.ns, r_, sampled) : slice_.ns / r_ / sampled;
    return std::clamp<std::int64_t>(k, 1, kernel.block_tasks.count);
  }

 private:
  std::int64_t r_;
  Duration slice_;
  bool as_printed_;
  double first_;
};

const MechanismRegistration<ProxyAdaptive> registered_proxy_adaptive{
    "proxy-adaptive", "as proxy, but blocks look at the flag only a few times per time slice (EffiSha)",
    PreemptionLevel::block_task,
    PollingMechanism::parameters(
        {{"r", "looks per time slice", Parameter::Integer{10, 1, 1'000'000}},
         {"L", "the scheduler's time slice", Parameter::Time{1_ms, 1_us, 100_s}},
         {"interval", "looks every L / (r l) block-tasks, or, as printed, every r L / l",
          Parameter::Choice{{"several-per-slice", "as-printed"}}},
         {"first_block_task", "length of a kernel's first block-tasks, which determines l, over that of all",
          Parameter::Number{1, 0.01, 100}}})};

}  // namespace
}  // namespace gangway
