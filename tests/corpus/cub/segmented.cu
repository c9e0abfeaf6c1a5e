#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>

cudaError_t segments(void* room, size_t& bytes, const float* in, float* out, const int* values, int* sorted,
                     const int* starts, int n, int count) {
  cub::DeviceSegmentedReduce::Sum(room, bytes, in, out, count, starts, starts + 1);
  cub::DeviceSegmentedReduce::Max(room, bytes, in, out, count, starts, starts + 1);
  cub::DeviceSegmentedSort::SortKeys(room, bytes, in, out, n, count, starts, starts + 1);
  cub::DeviceSegmentedSort::StableSortPairs(room, bytes, in, out, values, sorted, n, count, starts,
                                            starts + 1);
  return cub::DeviceSegmentedRadixSort::SortKeys(room, bytes, in, out, n, count, starts, starts + 1);
}
