// A library of twins, for programs that have none themselves: STANDIN_KERNELS names it.
#include "tests/standin/standin.h"

extern "C" __attribute__((visibility("default"))) void standin_kernel_elsewhere(const StandinLaunch* launch) {
  **static_cast<uint32_t**>(launch->params[0]) = 77;
}
