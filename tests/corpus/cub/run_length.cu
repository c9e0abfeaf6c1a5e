#include <cub/device/device_run_length_encode.cuh>

template <typename T>
cudaError_t runs(void* room, size_t& bytes, const T* in, T* unique, int* lengths, int* count, int n) {
  cub::DeviceRunLengthEncode::NonTrivialRuns(room, bytes, in, lengths, lengths, count, n);
  return cub::DeviceRunLengthEncode::Encode(room, bytes, in, unique, lengths, count, n);
}

template cudaError_t runs(void*, size_t&, const int*, int*, int*, int*, int);
template cudaError_t runs(void*, size_t&, const short*, short*, int*, int*, int);
