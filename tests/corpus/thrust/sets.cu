#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>

void sets(int* a, int* b, int* out, float* values, float* joined, int n) {
  thrust::merge(thrust::device, a, a + n, b, b + n, out);
  thrust::merge_by_key(thrust::device, a, a + n, b, b + n, values, values, out, joined);
  thrust::set_union(thrust::device, a, a + n, b, b + n, out);
  thrust::set_intersection(thrust::device, a, a + n, b, b + n, out);
  thrust::set_difference(thrust::device, a, a + n, b, b + n, out);
  thrust::lower_bound(thrust::device, a, a + n, b, b + n, out);
  thrust::adjacent_difference(thrust::device, a, a + n, out);
}
