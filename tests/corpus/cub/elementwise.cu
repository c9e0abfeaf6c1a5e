#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_transform.cuh>

struct Twice {
  __host__ __device__ void operator()(float& value) const { value *= 2; }
};

struct Store {
  float* out;
  __host__ __device__ void operator()(long long i) const { out[i] = float(i); }
};

struct Axpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

struct Square {
  __host__ __device__ double operator()(double x) const { return x * x; }
};

cudaError_t elements(void* room, size_t& bytes, float* in, float* out, double* wide, void** from, void** to,
                     unsigned* sizes, int n) {
  cub::DeviceAdjacentDifference::SubtractLeftCopy(room, bytes, in, out, n);
  cub::DeviceAdjacentDifference::SubtractRight(room, bytes, in, n);
  cub::DeviceFor::ForEachN(in, n, Twice{});
  cub::DeviceFor::ForEachCopyN(in, n, Store{out});
  cub::DeviceFor::Bulk(n, Store{out});
  cub::DeviceTransform::Transform(cuda::std::make_tuple(in, in), out, n, Axpy{3});
  cub::DeviceTransform::Transform(wide, wide, n, Square{});
  return cub::DeviceMemcpy::Batched(room, bytes, from, to, sizes, n);
}
