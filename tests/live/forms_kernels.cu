// The kernels of forms_client; forms_kernels.ptx is what nvcc makes of them (nvcc -ptx -arch=sm_80).
extern "C" __global__ void work(unsigned* p, unsigned pass, unsigned rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = i * 2654435761u + pass;
  for (unsigned k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
  p[i] += v;  // twice would show
}

// Reads its neighbour's word through shared memory.
extern "C" __global__ void mix_words(const unsigned* p, unsigned* q, unsigned n) {
  __shared__ unsigned own[33];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  own[threadIdx.x] = p[i];
  if (threadIdx.x == 0) own[blockDim.x] = p[(i + blockDim.x) % n];
  __syncthreads();
  q[i] = own[threadIdx.x] ^ own[threadIdx.x + 1];
}

__device__ unsigned launched;

extern "C" __global__ void plane(unsigned* p, unsigned rounds) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned i = block * blockDim.x + threadIdx.x;
  unsigned v = i;
  for (unsigned k = 0; k < rounds; ++k) v = v * 1664525u + blockIdx.y * 7 + blockIdx.z;
  p[i] += v;
  if (threadIdx.x == 0) atomicAdd(&launched, 1u);
}

extern "C" __global__ void tally(unsigned* p) { p[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
