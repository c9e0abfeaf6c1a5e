#include <thrust/execution_policy.h>
#include <thrust/sort.h>

struct Record {
  int key;
  float payload[3];
  __host__ __device__ bool operator<(const Record& other) const { return key < other.key; }
};

void sorts(int* ints, unsigned short* shorts, float* floats, Record* records, int n) {
  thrust::sort(thrust::device, ints, ints + n);
  thrust::stable_sort(thrust::device, records, records + n);
  thrust::sort_by_key(thrust::device, ints, ints + n, floats);
  thrust::sort_by_key(thrust::device, shorts, shorts + n, records);
}
