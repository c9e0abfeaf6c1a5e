#include <cub/device/device_partition.cuh>

struct Below {
  int limit;
  __host__ __device__ bool operator()(int value) const { return value < limit; }
};

cudaError_t partitions(void* room, size_t& bytes, const int* in, const char* flags, int* out, int* count,
                       int n) {
  cub::DevicePartition::If(room, bytes, in, out, count, n, Below{7});
  cub::DevicePartition::Flagged(room, bytes, in, flags, out, count, n);
  return cub::DevicePartition::If(room, bytes, in, out, out, out, count, n, Below{7}, Below{9});
}
