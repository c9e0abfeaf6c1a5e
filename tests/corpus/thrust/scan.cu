#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/transform_scan.h>

void scans(int* ints, double* doubles, float* floats, int n) {
  thrust::inclusive_scan(thrust::device, ints, ints + n, ints);
  thrust::exclusive_scan(thrust::device, doubles, doubles + n, doubles, 1.0, thrust::multiplies<double>{});
  thrust::transform_inclusive_scan(thrust::device, floats, floats + n, floats, thrust::negate<float>{},
                                   thrust::plus<float>{});
  thrust::inclusive_scan_by_key(thrust::device, ints, ints + n, floats, floats);
  thrust::exclusive_scan_by_key(thrust::device, ints, ints + n, doubles, doubles);
}
