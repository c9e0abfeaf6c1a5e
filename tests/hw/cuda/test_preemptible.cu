// Kernels of this test's own through the header: every form of grid, block and shared memory. Their outputs
// count how often each thread did its work, so doing a block-task twice or never is seen.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "hw/cuda/preemptible.cuh"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"

namespace {

using namespace gangway::preemptible;
using gangway::testing::have_gpu;

GANGWAY_KERNEL(flat, unsigned* out) { atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], gridDim.x); }

// How many of its block-tasks are under way at once, at most.
GANGWAY_KERNEL(crowding, unsigned* out) {
  if (threadIdx.x == 0) {
    const unsigned now = atomicAdd(&out[0], 1u) + 1;
    atomicMax(&out[1], now);
    for (unsigned spin = 0; spin < 20; ++spin) __nanosleep(500);
    atomicSub(&out[0], 1u);
    atomicAdd(&out[2], 1u);
  }
}

GANGWAY_KERNEL(in_three_dimensions, unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  atomicAdd(&out[block * blockDim.x * blockDim.y * blockDim.z + thread],
            1 + blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z);
}

// The last reads of shared memory are not followed by a barrier, so the next block-task must not begin early.
template <int kThreads>
GANGWAY_KERNEL(reversed, unsigned* out) {
  __shared__ unsigned values[kThreads];
  values[threadIdx.x] = blockIdx.x * kThreads + threadIdx.x;
  __syncthreads();
  for (unsigned spin = 0; spin < threadIdx.x % 64; ++spin) __nanosleep(20);
  atomicAdd(&out[blockIdx.x * kThreads + threadIdx.x], values[kThreads - 1 - threadIdx.x]);
}

GANGWAY_KERNEL(reversed_dynamic, unsigned* out) {
  extern __shared__ unsigned dynamic_values[];
  dynamic_values[threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], dynamic_values[blockDim.x - 1 - threadIdx.x]);
}

GANGWAY_KERNEL(leaving_early, unsigned* out, unsigned n) {
  if (blockIdx.x % 3 == 1) return;  // whole blocks
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || threadIdx.x % 5 == 2) return;  // threads, the first among them or not
  if (threadIdx.x == 0) return;
  atomicAdd(&out[i], 7u);
}

struct Pair {
  unsigned a;
  double b;
};
GANGWAY_KERNEL(with_a_struct, unsigned* out, const Pair pair) {
  atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], pair.a + static_cast<unsigned>(pair.b));
}

class Output {
 public:
  explicit Output(std::size_t size) : size_(size) {
    check(cudaMalloc(&data, size * sizeof(unsigned)), "cudaMalloc");
    clear();
  }
  ~Output() { cudaFree(data); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void clear() {
    check(cudaMemset(data, 0, size_ * sizeof(unsigned)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  std::vector<unsigned> read() const {
    std::vector<unsigned> values(size_);
    check(cudaMemcpy(values.data(), data, size_ * sizeof(unsigned), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }
  unsigned* data = nullptr;

 private:
  std::size_t size_;
};

// A kernel that never ends would keep the test from ending as well.
template <typename Condition>
void until(Condition condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition())
    if (std::chrono::steady_clock::now() > give_up) {
      std::puts("a kernel did not end in 20 s");
      std::_Exit(1);
    }
}

// The original, and each form whole and with evictions, or in slices: all must leave the same.
template <typename K, typename... A>
void same_in_all_forms(const K& kernel, std::size_t threads, A... arguments) {
  Session session;
  Output out(threads);
  kernel.launch_original(session, out.data, arguments...);
  until([&] { return session.gone(); });
  const std::vector<unsigned> expected = out.read();
  CHECK(std::any_of(expected.begin(), expected.end(), [](unsigned v) { return v != 0; }));

  using gangway::PollingForm;
  const std::vector<Persistence> forms{{PollingForm::claim},
                                       {PollingForm::host},
                                       {PollingForm::proxy},
                                       {PollingForm::proxy, {}, 20'000},  // ns between looks
                                       {PollingForm::none}};
  for (std::size_t form = 0; form < forms.size(); ++form) {
    INFO("form " << form);
    session.persist(forms[form]);
    out.clear();
    kernel.launch(session, out.data, arguments...);
    until([&] { return session.gone(); });
    CHECK(session.done() == kernel.block_tasks());
    CHECK(out.read() == expected);

    out.clear();
    std::mt19937 random(3);
    int launches = 0;
    const bool slices = session.polling() == PollingForm::none;
    for (std::uint32_t done = 0; done < kernel.block_tasks(); ++launches) {
      const std::uint32_t left = kernel.block_tasks() - done;
      const std::uint32_t last = done + (slices && launches < 50 ? 1 + random() % left : left);
      kernel.launch(session, done, last, out.data, arguments...);
      if (random() % 3 != 0) until([&] { return session.started(); });
      if (launches < 500) session.evict();
      until([&] { return session.gone(); });
      CHECK(session.started());
      CHECK(session.done() >= done);
      if (slices) CHECK(session.done() == last);
      done = session.done();
    }
    INFO(launches << " launches");
    CHECK(out.read() == expected);
  }
}

}  // namespace

TEST_CASE("grids of one, two and three dimensions", "[gpu][small]") {
  if (!have_gpu()) return;
  same_in_all_forms(Kernel<&flat>(20'000, 64), 20'000 * 64);
  same_in_all_forms(Kernel<&flat>(1, 32), 32);
  same_in_all_forms(Kernel<&in_three_dimensions>(dim3(71, 53), dim3(16, 4)), 71 * 53 * 64);
  same_in_all_forms(Kernel<&in_three_dimensions>(dim3(1, 300, 7), dim3(8, 4, 4)), 300 * 7 * 128);
  same_in_all_forms(Kernel<&in_three_dimensions>(dim3(13, 17, 19), dim3(4, 4, 8)), 13 * 17 * 19 * 128);
}

TEST_CASE("static shared memory and templates", "[gpu][small]") {
  if (!have_gpu()) return;
  same_in_all_forms(Kernel<&reversed<64>>(20'000, 64), 20'000 * 64);
  same_in_all_forms(Kernel<&reversed<1024>, 1024, 2>(3'000, 1024), 3'000 * 1024);
}

TEST_CASE("dynamic shared memory, also beyond 48 KiB", "[gpu][small]") {
  if (!have_gpu()) return;
  same_in_all_forms(Kernel<&reversed_dynamic>(10'000, 128, 128 * sizeof(unsigned)), 10'000 * 128);
  same_in_all_forms(Kernel<&reversed_dynamic>(2'000, 256, 96 * 1024), 2'000 * 256);
}

TEST_CASE("early returns of blocks and threads", "[gpu][small]") {
  if (!have_gpu()) return;
  same_in_all_forms(Kernel<&leaving_early>(20'000, 96), 20'000 * 96, 20'000u * 96 - 50);
}

TEST_CASE("arguments by value", "[gpu][small]") {
  if (!have_gpu()) return;
  same_in_all_forms(Kernel<&with_a_struct>(5'000, 64), 5'000 * 64, Pair{3, 4.0});
}

TEST_CASE("a launch has as many persistent blocks as its rule says", "[gpu][small]") {
  if (!have_gpu()) return;
  constexpr unsigned kTasks = 1000;
  const Kernel<&crowding> kernel(kTasks, 64);
  for (const unsigned blocks : {1u, 2u, 7u, 100u}) {
    Session session;
    unsigned room = 0;
    session.persist({gangway::PollingForm::claim, [&](std::uint32_t fits, std::uint32_t block_tasks) {
                       room = fits;
                       return std::min(blocks, block_tasks);
                     }});
    Output out(3);
    for (std::uint32_t done = 0, evictions = 0; done < kTasks; done = session.done(), ++evictions) {
      kernel.launch(session, done, kTasks, out.data);
      if (evictions < 5) {
        until([&] { return session.started(); });
        session.evict();
      }
      until([&] { return session.gone(); });
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const std::vector<unsigned> values = out.read();
    CHECK(room > 100);
    CHECK(values[0] == 0);
    CHECK(values[1] >= 1);
    CHECK(values[1] <= blocks);
    CHECK(values[2] == kTasks);
  }
  Session session;
  session.persist({gangway::PollingForm::claim, [](std::uint32_t room, std::uint32_t) { return room + 1; }});
  Output out(3);
  CHECK_THROWS_AS(kernel.launch(session, 0, kTasks, out.data), std::invalid_argument);
}

TEST_CASE("what cannot be launched is refused", "[gpu]") {
  if (!have_gpu()) return;
  Session session;
  Output out(64);
  CHECK_THROWS_AS(Kernel<&flat>(0, 64), std::invalid_argument);
  CHECK_THROWS_AS(Kernel<&flat>(dim3(1u << 30), 64), std::invalid_argument);
  const Kernel<&flat> kernel(1, 64);
  CHECK_THROWS_AS(kernel.launch(session, 1, 1, out.data), std::invalid_argument);
  CHECK_THROWS_AS(kernel.launch(session, 0, 2, out.data), std::invalid_argument);
}
