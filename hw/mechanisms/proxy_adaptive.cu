// EffiSha's adaptive checking (Chen et al., 6.3): blocks look at the proxy's copy several times in a time
// slice, whatever the length of their block-tasks, which each takes from the first ones of all.
#include "hw/mechanisms/polled_word.hpp"

namespace gangway {
namespace {

template <typename Base>
class ProxyAdaptive : public ProxyHalf<Base> {
 public:
  explicit ProxyAdaptive(const ParameterValues& values) {
    const std::int64_t slice = values.duration("L").ns, r = values.integer("r");
    interval_ = {values.choice("interval") == "as-printed" ? mul_div_floor(slice, r, 1) : slice / r};
    interval_ = std::max(interval_, Duration{1});  // 0 would be no interval at all
  }
  Duration look_interval() const override { return interval_; }

 private:
  Duration interval_;
};

const RealMechanismRegistration<ProxyAdaptive<HostMechanism>, ProxyAdaptive<StoreMechanism>> registered{
    {"proxy-adaptive", {"r", "L", "interval"}, {"useful", "first_block_task"}}};

}  // namespace
}  // namespace gangway
