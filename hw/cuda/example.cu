// An ordinary SAXPY, evicted in the middle and resumed: y must have grown by a * x exactly once everywhere.
#include <cstdio>
#include <vector>

#include "hw/cuda/preemptible.cuh"

GANGWAY_KERNEL(saxpy, float a, const float* x, float* y, int n) {  // was: __global__ void saxpy(float a, ...
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

int main() try {
  const int n = 1 << 26;
  float *x = nullptr, *y = nullptr;
  gangway::preemptible::check(cudaMallocManaged(&x, n * sizeof(float)), "cudaMallocManaged");
  gangway::preemptible::check(cudaMallocManaged(&y, n * sizeof(float)), "cudaMallocManaged");
  for (int i = 0; i < n; ++i) x[i] = y[i] = static_cast<float>(i % 1000);

  gangway::preemptible::Session session;
  const gangway::preemptible::Kernel<&saxpy> kernel(n / 256, 256);
  int launches = 0;
  for (std::uint32_t done = 0; done < kernel.block_tasks(); done = session.done(), ++launches) {
    kernel.launch(session, done, kernel.block_tasks(), 2.0f, x, y, n);
    while (!session.started()) continue;
    session.evict();
    while (!session.gone()) continue;
  }
  gangway::preemptible::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 3.0f * static_cast<float>(i % 1000);
  std::printf("%d launches, %d of %d elements wrong\n", launches, wrong, n);
  return wrong != 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
