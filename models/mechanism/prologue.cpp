// An ordinary grid whose blocks begin with a claim, in kernels whose compiled code was rewritten: one thread
// adds 1 to a word, and the block leaves if the flag is up there. Blocks that have claimed finish; of those
// that have not begun each comes, claims and goes, so many a ns as the device starts. A relaunch has a grid
// of what is left.
#include <algorithm>
#include <cmath>

#include "models/mechanism/flag.hpp"

namespace gangway {
namespace {

// Blocks up to so many threads are claimed at the first price, those of kMostThreads at the second; between
// them along a line.
constexpr std::int64_t kFewThreads = 256, kMostThreads = 1024;

class Prologue : public FlagMechanism {
 public:
  explicit Prologue(const ParameterValues& values)
      : FlagMechanism(values),
        claim_(values.number("claim_ns")),
        wide_(values.number("claim_1024_ns")),
        overhead_(values.number("overhead")) {}

  CommandDelays delays(const Kernel& kernel, const Device& device) const override {
    CommandDelays delays = FlagMechanism::delays(kernel, device);
    delays.claim_ps = claim_ps(kernel);
    return delays;
  }

  // No faster than its blocks can be claimed.
  Duration running_time(const Kernel& kernel, const Device&) const override {
    return std::max(scaled_nearest(kernel.transformed(), overhead_),
                    Duration{mul_div_ceil(kernel.block_tasks.count, claim_ps(kernel), 1000)});
  }

 private:
  std::int64_t claim_ps(const Kernel& kernel) const {
    const std::int64_t threads = std::clamp(kernel.threads(), kFewThreads, kMostThreads);
    const double wide = static_cast<double>(threads - kFewThreads) / (kMostThreads - kFewThreads);
    return std::llround(1000 * (claim_ + wide * (wide_ - claim_)));
  }

  double claim_, wide_, overhead_;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all = FlagMechanism::parameters();
  all.push_back({"claim_ns",
                 "ns that each block not yet begun adds to the drain, for up to 256 threads (H100: 0.73)",
                 Parameter::Number{0.73, 0, 1000}});
  all.push_back(
      {"claim_1024_ns", "likewise, for 1024 threads; linear in between", Parameter::Number{1.8, 0, 1000}});
  all.push_back({"overhead", "multiplies the kernel's time, in addition to its transformation_overhead",
                 Parameter::Number{1, 0.01, 100}});
  return all;
}

const MechanismRegistration<Prologue> registered_prologue{
    "prologue", "rewritten kernels: an ordinary grid whose blocks claim before they begin, or leave",
    PreemptionLevel::block_task, parameters()};

}  // namespace
}  // namespace gangway
