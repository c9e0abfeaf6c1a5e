#include "models/workload.hpp"

namespace gangway {

Duration Kernel::transformed() const { return scaled_nearest(time, transformation_overhead); }
Duration Kernel::declared() const {
  return scaled_nearest(declared_time.value_or(time), transformation_overhead);
}

Duration kernels_alone(const Client& client, bool transformed) {
  Duration sum;
  for (const Kernel& kernel : client.kernels) sum += transformed ? kernel.transformed() : kernel.time;
  return sum;
}

}  // namespace gangway
