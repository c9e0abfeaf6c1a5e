#include <thrust/count.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>

struct Square {
  __host__ __device__ double operator()(double x) const { return x * x; }
};

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

void reductions(int* ints, double* doubles, float* floats, int n, double* results) {
  results[0] = thrust::reduce(thrust::device, ints, ints + n);
  results[1] = thrust::reduce(thrust::device, doubles, doubles + n, 0.0, thrust::maximum<double>{});
  results[2] =
      thrust::transform_reduce(thrust::device, doubles, doubles + n, Square{}, 0.0, thrust::plus<double>{});
  results[3] = thrust::inner_product(thrust::device, floats, floats + n, floats, 0.0f);
  results[4] = thrust::count_if(thrust::device, ints, ints + n, Odd{});
  results[5] = *thrust::max_element(thrust::device, floats, floats + n);
  results[6] = thrust::any_of(thrust::device, ints, ints + n, Odd{});
  thrust::reduce_by_key(thrust::device, ints, ints + n, floats, ints, floats);
}
