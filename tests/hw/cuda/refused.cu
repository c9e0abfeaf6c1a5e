// Must not compile, for the reason that the test names: built with -DREFERENCE, -DOBJECT or -DORDINARY.
#include "hw/cuda/preemptible.cuh"

#if defined(REFERENCE)
GANGWAY_KERNEL(kernel, int& out) { out = 1; }
#elif defined(OBJECT)
struct Owner {
  Owner(const Owner& other) : value(other.value + 1) {}
  int value;
};
GANGWAY_KERNEL(kernel, Owner owner, int* out) { *out = owner.value; }
#elif defined(ORDINARY)
static __device__ void kernel(int* out) { *out = 1; }
#endif

unsigned blocks() { return gangway::preemptible::Kernel<&kernel>(1, 1).blocks(); }
