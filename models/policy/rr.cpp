// Round robin (FRS paper, IV-C): a quantum each, then to the end of the queue.
#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class RoundRobin : public OwnershipPolicy {
 public:
  explicit RoundRobin(const ParameterValues& values) : quantum_(values.duration("quantum")) {}

 private:
  Choice choose(Time, const View&) override { return {0, quantum_}; }

  Duration quantum_;
};

const OwnershipRegistration<RoundRobin> registered_rr{
    "rr",
    "round robin with a quantum",
    {{"quantum", "time a kernel may own the GPU while others wait", Parameter::Time{1_ms, 1_us, 100_s}}}};

}  // namespace
}  // namespace gangway
