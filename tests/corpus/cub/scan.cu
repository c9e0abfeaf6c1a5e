#include <cub/device/device_scan.cuh>

template <typename T>
cudaError_t scans(void* room, size_t& bytes, const T* in, const int* keys, T* out, int n) {
  cub::DeviceScan::ExclusiveSum(room, bytes, in, out, n);
  cub::DeviceScan::InclusiveScan(room, bytes, in, out, cuda::maximum<>{}, n);
  cub::DeviceScan::InclusiveSumByKey(room, bytes, keys, in, out, n);
  return cub::DeviceScan::ExclusiveScanByKey(room, bytes, keys, in, out, cuda::minimum<>{}, T{}, n);
}

template cudaError_t scans(void*, size_t&, const int*, const int*, int*, int);
template cudaError_t scans(void*, size_t&, const double*, const int*, double*, int);
template cudaError_t scans(void*, size_t&, const unsigned char*, const int*, unsigned char*, int);
