// In which order a GPU serves the contexts of several processes. contexts SEED [plain|event|two]
//
// Nine processes create their contexts one after the other in a random order; then each keeps the GPU busy,
// in many mixes, with one block that notes when it had the GPU: one kernel, an event behind it, or two
// kernels. contexts.py compares what is printed with the rules of sim/blocks/README.md.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#define NEED(call)                                                      \
  if (const cudaError_t error = (call); error != cudaSuccess) {         \
    std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
    std::exit(1);                                                       \
  }

namespace {

constexpr int kProcesses = 9, kMostTurns = 400, kMostMixes = 64;
constexpr std::uint64_t kGap =
    30'000;  // ns in which the block does not look at the clock: it was off the GPU

struct Turns {  // in ns of the GPU's clock
  int count;
  std::uint64_t from[kMostTurns], to[kMostTurns];
};

__device__ std::uint64_t clock_now() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Until it has had the GPU for `work` ns.
__global__ void keeps_busy(std::uint64_t work, Turns* turns) {
  std::uint64_t begin = clock_now(), last = begin, done = 0;
  int count = 0;
  const auto note = [&] {
    if (count < kMostTurns) turns->from[count] = begin, turns->to[count++] = last;
  };
  while (done < work) {
    const std::uint64_t now = clock_now();
    if (now - last > kGap)
      note(), begin = now;
    else
      done += now - last;
    last = now;
  }
  note();
  turns->count = count;
}

struct Mix {
  double arrives[kProcesses], work[kProcesses];  // us; arrives < 0: takes no part
};

std::vector<Mix> mixes(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Mix> all;
  const auto add = [&]() -> Mix& {
    Mix& mix = all.emplace_back();
    std::fill(mix.arrives, mix.arrives + kProcesses, -1);
    return mix;
  };
  const auto shuffled = [&] {
    std::vector<int> order(kProcesses);
    for (int p = 0; p < kProcesses; ++p) order[p] = p;
    for (int p = kProcesses - 1; p > 0; --p) std::swap(order[p], order[below(p + 1)]);
    return order;
  };
  for (int k = 0; k < 4; ++k) {  // all within 1 ms
    Mix& mix = add();
    double at = 0;
    for (const int p : shuffled()) mix.arrives[p] = at, mix.work[p] = 9000, at += 100;
  }
  for (int k = 0; k < 6; ++k) {  // two come while one has its first turn
    Mix& mix = add();
    const auto order = shuffled();
    for (int i = 0; i < 3; ++i) mix.arrives[order[i]] = 500 * i, mix.work[order[i]] = 7000;
  }
  for (int k = 0; k < 8; ++k) {  // three come while two take turns
    Mix& mix = add();
    const auto order = shuffled();
    double at = 0;
    for (int i = 0; i < 5; ++i) {
      mix.arrives[order[i]] = at, mix.work[order[i]] = 11000;
      at += i == 0 ? 300 : i == 1 ? 4700 + below(5000) : below(3000);
    }
  }
  for (int k = 0; k < 6; ++k) {  // short and long ones
    Mix& mix = add();
    for (int p = 0; p < kProcesses; ++p) mix.arrives[p] = below(15000), mix.work[p] = 500 + below(6000);
  }
  return all;
}

struct Shared {
  std::atomic<int> created, ready[kMostMixes], done[kMostMixes];
  std::atomic<double> begins[kMostMixes];  // us
  Turns turns[kProcesses];
};

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void take_part(int process, int turn, const std::string& form, const std::vector<Mix>& all, Shared& shared) {
  while (shared.created < turn) usleep(1000);
  cudaStream_t stream;
  cudaEvent_t event;
  Turns* turns[2];
  NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  NEED(cudaEventCreate(&event));
  for (Turns*& own : turns) NEED(cudaMallocHost(&own, sizeof(Turns)));
  keeps_busy<<<1, 1, 0, stream>>>(100'000, turns[0]);
  NEED(cudaStreamSynchronize(stream));
  ++shared.created;
  for (std::size_t m = 0; m < all.size(); ++m) {
    ++shared.ready[m];
    while (shared.begins[m] == 0) usleep(200);
    if (all[m].arrives[process] >= 0) {
      const double at = shared.begins[m] + all[m].arrives[process];
      while (at - now_us() > 300) usleep(100);
      while (now_us() < at) {
      }
      const auto work = static_cast<std::uint64_t>(all[m].work[process] * 1000);
      const std::uint64_t first = form == "two" ? work * 7 / 10 : work;
      turns[1]->count = 0;
      keeps_busy<<<1, 1, 0, stream>>>(first, turns[0]);
      if (form == "two") keeps_busy<<<1, 1, 0, stream>>>(work - first, turns[1]);
      if (form == "event") NEED(cudaEventRecord(event, stream));
      NEED(cudaStreamSynchronize(stream));
      Turns& told = shared.turns[process];
      told.count = 0;
      for (const Turns* own : turns)
        for (int t = 0; t < own->count && told.count < kMostTurns; ++t)
          told.from[told.count] = own->from[t], told.to[told.count++] = own->to[t];
    }
    ++shared.done[m];
  }
}

// A line of arrivals and work in us, and one of turns in ms after the first arrival.
void print(const Mix& mix, Shared& shared) {
  struct Turn {
    std::uint64_t from, to;
    int process;
  };
  std::vector<Turn> turns;
  double first = 1e18;
  std::printf("# arrive/work:");
  for (int p = 0; p < kProcesses; ++p) {
    if (mix.arrives[p] < 0) continue;
    std::printf(" %d:%.0f/%.0f", p, mix.arrives[p], mix.work[p]);
    first = std::min(first, mix.arrives[p]);
    for (int t = 0; t < shared.turns[p].count; ++t)
      turns.push_back({shared.turns[p].from[t], shared.turns[p].to[t], p});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.from < b.from; });
  std::printf("\n ");
  for (const Turn& turn : turns) {
    const auto ms = [&](std::uint64_t at) {
      return static_cast<double>(at - turns[0].from) / 1e6 + first / 1e3;
    };
    std::printf(" %d[%.3f-%.3f]", turn.process, ms(turn.from), ms(turn.to));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string form = argc > 2 ? argv[2] : "plain";
  if (argc < 2 || argc > 3 || (form != "plain" && form != "event" && form != "two")) {
    std::fprintf(stderr, "contexts SEED [plain|event|two]\n");
    return 2;
  }
  std::mt19937 random(static_cast<unsigned>(std::atoi(argv[1])));
  std::vector<int> order(kProcesses);
  for (int p = 0; p < kProcesses; ++p) order[p] = p;
  for (int p = kProcesses - 1; p > 0; --p)
    std::swap(order[p], order[random() % static_cast<unsigned>(p + 1)]);
  const std::vector<Mix> all = mixes(random);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared& shared = *new (memory) Shared{};
  std::printf("created in order:");
  for (const int p : order) std::printf(" %d", p);
  std::printf("\n");
  std::fflush(stdout);
  const pid_t parent = getpid();
  for (int t = 0; t < kProcesses; ++t)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // who waits for one that has failed would wait for ever
      if (getppid() != parent) _exit(1);
      take_part(order[t], t, form, all, shared);
      _exit(0);
    }
  const auto wait_for = [](const std::atomic<int>& count) {
    while (count < kProcesses) {
      usleep(1000);
      int status = 0;
      if (waitpid(-1, &status, WNOHANG) > 0 && status != 0) std::exit(1);  // it has said why
    }
  };
  for (std::size_t m = 0; m < all.size(); ++m) {
    wait_for(shared.ready[m]);
    usleep(20'000);
    shared.begins[m] = now_us() + 2000;
    wait_for(shared.done[m]);
    print(all[m], shared);
  }
  while (wait(nullptr) > 0) {
  }
}
