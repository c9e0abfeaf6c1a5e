#include <cub/device/device_merge.cuh>

cudaError_t merges(void* room, size_t& bytes, const int* a, const int* b, int* out, const float* va,
                   const float* vb, float* vout, int n) {
  cub::DeviceMerge::MergeKeys(room, bytes, a, n, b, n, out);
  return cub::DeviceMerge::MergePairs(room, bytes, a, va, n, b, vb, n, out, vout);
}
