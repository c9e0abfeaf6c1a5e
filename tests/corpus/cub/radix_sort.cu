#include <cub/device/device_radix_sort.cuh>

template <typename Key>
cudaError_t keys(void* room, size_t& bytes, const Key* in, Key* out, int n) {
  cub::DeviceRadixSort::SortKeys(room, bytes, in, out, n);
  return cub::DeviceRadixSort::SortKeysDescending(room, bytes, in, out, n);
}

template cudaError_t keys(void*, size_t&, const unsigned char*, unsigned char*, int);
template cudaError_t keys(void*, size_t&, const unsigned*, unsigned*, int);
template cudaError_t keys(void*, size_t&, const double*, double*, int);

cudaError_t pairs(void* room, size_t& bytes, const unsigned* in, unsigned* out, const float* values,
                  float* sorted, int n) {
  return cub::DeviceRadixSort::SortPairs(room, bytes, in, out, values, sorted, n);
}
