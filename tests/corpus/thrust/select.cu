#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/unique.h>

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

void selections(int* ints, int* out, float* floats, int n) {
  thrust::copy_if(thrust::device, ints, ints + n, out, Odd{});
  thrust::copy_if(thrust::device, floats, floats + n, ints, floats, Odd{});
  thrust::remove_if(thrust::device, ints, ints + n, Odd{});
  thrust::unique(thrust::device, floats, floats + n);
  thrust::unique_by_key(thrust::device, ints, ints + n, floats);
  thrust::partition(thrust::device, ints, ints + n, Odd{});
  thrust::stable_partition_copy(thrust::device, ints, ints + n, out, out, Odd{});
}
