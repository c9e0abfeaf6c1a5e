#include <cub/device/device_reduce.cuh>

struct Product {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const {
    return a * b;
  }
};

template <typename T, typename Count>
cudaError_t reductions(void* room, size_t& bytes, const T* in, T* out, Count n) {
  cub::DeviceReduce::Sum(room, bytes, in, out, n);
  cub::DeviceReduce::Max(room, bytes, in, out, n);
  return cub::DeviceReduce::Reduce(room, bytes, in, out, n, Product{}, T{1});
}

template cudaError_t reductions(void*, size_t&, const int*, int*, int);
template cudaError_t reductions(void*, size_t&, const float*, float*, long long);
template cudaError_t reductions(void*, size_t&, const double*, double*, int);

cudaError_t smallest(void* room, size_t& bytes, const float* in, float* value, long long* index,
                     long long n) {
  return cub::DeviceReduce::ArgMin(room, bytes, in, value, index, n);
}

cudaError_t by_key(void* room, size_t& bytes, const int* keys, int* unique, const float* values, float* sums,
                   int* runs, int n) {
  return cub::DeviceReduce::ReduceByKey(room, bytes, keys, unique, values, sums, runs, cuda::std::plus<>{},
                                        n);
}
