#include <cub/device/device_select.cuh>

struct Positive {
  template <typename T>
  __host__ __device__ bool operator()(T value) const {
    return value > T{};
  }
};

template <typename T>
cudaError_t selections(void* room, size_t& bytes, const T* in, const char* flags, T* out, int* count, int n) {
  cub::DeviceSelect::If(room, bytes, in, out, count, n, Positive{});
  cub::DeviceSelect::Flagged(room, bytes, in, flags, out, count, n);
  cub::DeviceSelect::UniqueByKey(room, bytes, in, in, out, out, count, n);
  return cub::DeviceSelect::Unique(room, bytes, in, out, count, n);
}

template cudaError_t selections(void*, size_t&, const int*, const char*, int*, int*, int);
template cudaError_t selections(void*, size_t&, const double*, const char*, double*, int*, int);
