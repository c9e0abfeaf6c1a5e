// Sort: keys of 32 bits with values, by radix, 4 bits a pass: how often each digit is in each part, where
// each part's keys of each digit go, and their way there.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kEach = 16, kDigits = 16, kBits = 4, kScanThreads = 1024;
constexpr int kPart = kThreads * kEach;  // keys of a block

}  // namespace

// Each thread's value replaced by the sum of those before it; all threads of the block call it. Returns that
// sum.
template <int Threads>
__device__ unsigned sum_of_those_before(unsigned value, unsigned* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int distance = 1; distance < Threads; distance *= 2) {
    const unsigned other = threadIdx.x >= distance ? shared[threadIdx.x - distance] : 0;
    __syncthreads();
    shared[threadIdx.x] += other;
    __syncthreads();
  }
  return shared[threadIdx.x] - value;
}

// counts[digit * parts + part]
__global__ void count_digits(const unsigned* keys, unsigned* counts, int shift) {
  __shared__ unsigned found[kDigits];
  if (threadIdx.x < kDigits) found[threadIdx.x] = 0;
  __syncthreads();
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kPart;
  for (int i = threadIdx.x; i < kPart; i += kThreads)
    atomicAdd(&found[keys[first + i] >> shift & (kDigits - 1)], 1);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// In place, by one block.
__global__ void scan_counts(unsigned* counts, int size) {
  __shared__ unsigned shared[kScanThreads];
  unsigned before = 0;
  for (int first = 0; first < size; first += 4 * kScanThreads) {
    const int own = first + 4 * static_cast<int>(threadIdx.x);
    unsigned values[4], sum = 0;
    for (int i = 0; i < 4; ++i) sum += values[i] = own + i < size ? counts[own + i] : 0;
    unsigned at = before + sum_of_those_before<kScanThreads>(sum, shared);
    before += shared[kScanThreads - 1];
    for (int i = 0; i < 4; ++i) {
      if (own + i < size) counts[own + i] = at;
      at += values[i];
    }
    __syncthreads();
  }
}

// Where in shared memory, so that threads with successive keys each use all banks.
__device__ int padded(int i) { return i + i / kEach; }

// Keys of one digit keep their order.
__global__ void move_keys(const unsigned* keys, const unsigned* values, const unsigned* places,
                          unsigned* keys_out, unsigned* values_out, int shift) {
  __shared__ unsigned short ranks[kDigits * kThreads];  // of each digit and thread
  __shared__ unsigned shared[kThreads], key_at[kPart + kThreads], value_at[kPart + kThreads],
      begin_of[kDigits];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kPart;
  for (int i = threadIdx.x; i < kPart; i += kThreads) {
    key_at[padded(i)] = keys[first + i];
    value_at[padded(i)] = values[first + i];
  }
  for (int digit = 0; digit < kDigits; ++digit) ranks[digit * kThreads + threadIdx.x] = 0;
  __syncthreads();
  unsigned own_keys[kEach], own_values[kEach];
  for (int i = 0; i < kEach; ++i) {
    own_keys[i] = key_at[padded(threadIdx.x * kEach + i)];
    own_values[i] = value_at[padded(threadIdx.x * kEach + i)];
    ++ranks[(own_keys[i] >> shift & (kDigits - 1)) * kThreads + threadIdx.x];
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < kDigits; ++i) sum += ranks[threadIdx.x * kDigits + i];
  unsigned rank = sum_of_those_before<kThreads>(sum, shared);
  for (int i = 0; i < kDigits; ++i) {
    const unsigned count = ranks[threadIdx.x * kDigits + i];
    ranks[threadIdx.x * kDigits + i] = static_cast<unsigned short>(rank);
    rank += count;
  }
  __syncthreads();
  if (threadIdx.x < kDigits) begin_of[threadIdx.x] = ranks[threadIdx.x * kThreads];
  __syncthreads();
  for (int i = 0; i < kEach; ++i) {
    const int at = ranks[(own_keys[i] >> shift & (kDigits - 1)) * kThreads + threadIdx.x]++;
    key_at[padded(at)] = own_keys[i];
    value_at[padded(at)] = own_values[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPart; i += kThreads) {
    const unsigned digit = key_at[padded(i)] >> shift & (kDigits - 1);
    const unsigned to = places[digit * gridDim.x + blockIdx.x] + i - begin_of[digit];
    keys_out[to] = key_at[padded(i)];
    values_out[to] = value_at[padded(i)];
  }
}

namespace {

class Sort final : public shoc::Benchmark {
 public:
  // 160 bytes a key in all passes at 1.8 TB/s: 5.46 ms. The values are the keys' places.
  explicit Sort(double scale)
      : n_(shoc::scaled(60e6, scale, kPart)),
        keys_values_(n_),
        keys_(n_),
        values_(n_),
        counts_(n_ / kPart * kDigits) {
    std::vector<unsigned> values(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      keys_values_[i] = static_cast<unsigned>(shoc::mixed(i));
      values[i] = static_cast<unsigned>(i);
    }
    NEED(cudaMemcpy(keys_.data(), keys_values_.data(), keys_.bytes(), cudaMemcpyHostToDevice));
    NEED(cudaMemcpy(values_.data(), values.data(), values_.bytes(), cudaMemcpyHostToDevice));
  }

  void launch() override {
    const auto parts = static_cast<unsigned>(n_ / kPart);
    const unsigned *keys = keys_.data(), *values = values_.data();
    for (int pass = 0; pass < 32 / kBits; ++pass) {
      count_digits<<<parts, kThreads>>>(keys, counts_.data(), kBits * pass);
      scan_counts<<<1, kScanThreads>>>(counts_.data(), static_cast<int>(counts_.size()));
      unsigned *keys_out = keys_to_[pass % 2].data(), *values_out = values_to_[pass % 2].data();
      move_keys<<<parts, kThreads>>>(keys, values, counts_.data(), keys_out, values_out, kBits * pass);
      keys = keys_out, values = values_out;
    }
  }

  std::vector<shoc::Region> outputs() const override {
    return {shoc::region(keys_to_[0]), shoc::region(keys_to_[1]), shoc::region(values_to_[0]),
            shoc::region(values_to_[1]), shoc::region(counts_)};
  }

  // All of them: each value once, with its key, in order of keys and then of places.
  void check(shoc::Sample&) override {
    const std::vector<unsigned> keys = keys_to_[1].all(), values = values_to_[1].all();
    std::vector<bool> seen(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      if (values[i] >= n_ || seen[values[i]])
        shoc::fail("value %zu is %u, which is none or not the first such", i, values[i]);
      seen[values[i]] = true;
      shoc::need_equal("key", i, keys[i], keys_values_[values[i]]);
      if (i > 0 && std::make_pair(keys[i - 1], values[i - 1]) > std::make_pair(keys[i], values[i]))
        shoc::fail("key %zu is less than the one before it, or from before it", i);
    }
  }

 private:
  std::size_t n_;
  std::vector<unsigned> keys_values_;
  shoc::Buffer<unsigned> keys_, values_, counts_;
  shoc::Buffer<unsigned> keys_to_[2] = {shoc::Buffer<unsigned>(n_), shoc::Buffer<unsigned>(n_)};
  shoc::Buffer<unsigned> values_to_[2] = {shoc::Buffer<unsigned>(n_), shoc::Buffer<unsigned>(n_)};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Sort>("sort", argc, argv); }
