#include <thrust/complex.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/replace.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>

struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

struct Norm {
  __host__ __device__ double operator()(thrust::complex<double> z) const { return thrust::norm(z); }
};

struct Bump {
  int* counts;
  __device__ void operator()(int i) const { atomicAdd(counts + i % 16, 1); }
};

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

void transforms(float* x, float* y, thrust::complex<double>* z, double* norms, int* map, int n) {
  thrust::transform(thrust::device, x, x + n, y, y, Saxpy{2});
  thrust::transform(thrust::device, z, z + n, norms, Norm{});
  thrust::transform_if(thrust::device, map, map + n, map, thrust::negate<int>{}, Odd{});
  thrust::for_each_n(thrust::device, thrust::counting_iterator<int>(0), n, Bump{map});
  thrust::gather(thrust::device, map, map + n, x, y);
  thrust::scatter(thrust::device, x, x + n, map, y);
  thrust::sequence(thrust::device, map, map + n);
  thrust::tabulate(thrust::device, map, map + n, thrust::negate<int>{});
  thrust::replace_if(thrust::device, map, map + n, Odd{}, 0);
}
