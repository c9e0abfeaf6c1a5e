// StringSort: strings of up to 16 letters in order. Blocks sort short runs in shared memory, then launch by
// launch pairs of runs become one, each thread's part of which a binary search finds.
#include "table1.hpp"

namespace {

constexpr unsigned kRun = 512, kOfThread = 8;  // strings

// Of 4 to 16 letters; the rest is zero. The first letter is in the highest byte, so strings compare as
// numbers.
struct String {
  std::uint64_t first, second;
  __host__ __device__ bool operator<(const String& other) const {
    return first != other.first ? first < other.first : second < other.second;
  }
  __host__ __device__ bool operator==(const String& other) const {
    return first == other.first && second == other.second;
  }
};

struct Random {
  __host__ __device__ String operator()(std::size_t i) const {
    const std::uint64_t draw = table1::mixed(i), more = table1::mixed(draw);
    const unsigned length = 4 + static_cast<unsigned>(draw >> 60) % 13;
    String s = {0, 0};
    for (unsigned letter = 0; letter < length; ++letter) {
      const std::uint64_t bits = letter < 8 ? draw >> letter * 7 : more >> (letter - 8) * 7;
      const std::uint64_t value = 'a' + (bits & 127) % 26;
      if (letter < 8)
        s.first |= value << (7 - letter) * 8;
      else
        s.second |= value << (15 - letter) * 8;
    }
    return s;
  }
};

__device__ inline table1::Count value_of(const String& s) {
  return table1::mixed(s.first ^ table1::mixed(s.second));
}

}  // namespace

// A run for each block, by a bitonic network; what is beyond the last string is greater than all.
__global__ void sort_runs(const String* strings, String* sorted, std::size_t n) {
  __shared__ String run[kRun];
  for (std::size_t begin = std::size_t{blockIdx.x} * kRun; begin < n;
       begin += std::size_t{gridDim.x} * kRun) {
    for (unsigned i = threadIdx.x; i < kRun; i += blockDim.x)
      run[i] = begin + i < n ? strings[begin + i] : String{~0ULL, ~0ULL};
    __syncthreads();
    for (unsigned size = 2; size <= kRun; size *= 2)
      for (unsigned apart = size / 2; apart > 0; apart /= 2) {
        for (unsigned i = threadIdx.x; i < kRun; i += blockDim.x) {
          const unsigned other = i ^ apart;
          if (other < i) continue;
          const bool up = (i & size) == 0;
          if (run[other] < run[i] ? up : !up && run[i] < run[other]) {
            const String kept = run[i];
            run[i] = run[other];
            run[other] = kept;
          }
        }
        __syncthreads();
      }
    for (unsigned i = threadIdx.x; i < kRun; i += blockDim.x)
      if (begin + i < n) sorted[begin + i] = run[i];
    __syncthreads();
  }
}

// Pairs of runs of `length` become runs of twice that. A thread's strings begin at one that so many of the
// left run precede, and the rest of the right one.
__global__ void merge(const String* from, String* to, std::size_t n, std::size_t length) {
  const std::size_t parts = (n + kOfThread - 1) / kOfThread;
  for (std::size_t p = table1::first_index(); p < parts; p += table1::all_threads()) {
    const std::size_t at = p * kOfThread, begin = at / (2 * length) * (2 * length);
    const std::size_t middle = min(begin + length, n), end = min(begin + 2 * length, n);
    const std::size_t before = at - begin;
    std::size_t low = before > end - middle ? before - (end - middle) : 0, high = min(before, middle - begin);
    while (low < high) {
      const std::size_t half = (low + high) / 2;
      if (from[middle + before - half - 1] < from[begin + half])
        high = half;
      else
        low = half + 1;
    }
    std::size_t left = begin + low, right = middle + before - low;
    for (std::size_t i = at; i < min(at + kOfThread, end); ++i) {
      const bool take_left = right >= end || (left < middle && !(from[right] < from[left]));
      to[i] = take_left ? from[left++] : from[right++];
    }
  }
}

// How many are greater than their next, and a sum of all that does not depend on their order, of these and of
// those that they were made of.
__global__ void inspect(const String* sorted, std::size_t n, table1::Count* wrong, table1::Count* sums) {
  table1::Count mine = 0, before = 0, out_of_order = 0;
  for (std::size_t i = table1::first_index(); i < n; i += table1::all_threads()) {
    mine += value_of(sorted[i]);
    before += value_of(Random()(i));
    if (i + 1 < n && sorted[i + 1] < sorted[i]) ++out_of_order;
  }
  if (out_of_order != 0) atomicAdd(wrong, out_of_order);
  atomicAdd(sums, mine);
  atomicAdd(sums + 1, before);
}

namespace {

class StringSort final : public table1::Problem {
 public:
  explicit StringSort(std::size_t bytes)
      : n_(std::max<std::size_t>(2, bytes / (3 * sizeof(String)))), strings_(n_), one_(n_), other_(n_) {
    table1::fill_all(strings_, Random());
  }

  void job(long rounds) override {
    for (long r = 0; r < rounds; ++r) sort();
  }

  // All of them are there and in order; some the host looks up.
  void check(table1::Sample& sample) override {
    table1::need_all("strings", strings_, n_, Random());
    table1::Buffer<table1::Count> found(3);
    inspect<<<std::min(table1::blocks(n_), 4096U), table1::kThreads>>>(sorted_->data(), n_, found.data(),
                                                                       found.data() + 1);
    LAUNCHED();
    const std::vector<table1::Count> counts = found.part(0, 3);
    if (counts[0] != 0) table1::fail("%llu of %zu strings are greater than their next", counts[0], n_);
    if (counts[1] != counts[2]) table1::fail("the sorted strings are not those that were to be sorted");
    for (int k = 0; k < 16; ++k) {
      const String wanted = Random()(table1::drawn(sample, n_));
      std::size_t low = 0, high = n_;
      while (low < high) {
        const std::size_t half = (low + high) / 2;
        if (sorted_->at(half) < wanted)
          low = half + 1;
        else
          high = half;
      }
      if (low == n_ || !(sorted_->at(low) == wanted))
        table1::fail("a string is not where it should be, at %zu", low);
    }
  }

  std::uint64_t result() override { return table1::checksum(*sorted_); }

 private:
  void sort() {
    table1::Buffer<String>*from = &one_, *to = &other_;
    sort_runs<<<table1::blocks(n_, kRun), table1::kThreads>>>(strings_.data(), from->data(), n_);
    LAUNCHED();
    for (std::size_t length = kRun; length < n_; length *= 2) {
      merge<<<table1::blocks((n_ + kOfThread - 1) / kOfThread), table1::kThreads>>>(from->data(), to->data(),
                                                                                    n_, length);
      LAUNCHED();
      std::swap(from, to);
    }
    sorted_ = from;
  }

  std::size_t n_;
  table1::Buffer<String> strings_, one_, other_;
  table1::Buffer<String>* sorted_ = &one_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<StringSort>("stringsort", 1, argc, argv); }
